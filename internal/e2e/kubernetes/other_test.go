//go:build !linux

package kubernetes

import "testing"

func TestKubernetes(t *testing.T) {
	t.Skip("SKIPPED: the kubelet's code and its containers need Linux")
}

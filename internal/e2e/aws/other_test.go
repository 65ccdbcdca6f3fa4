//go:build !linux

package aws

import "testing"

func TestAWS(t *testing.T) {
	t.Skip("SKIPPED: the tests end what they start by means that only Linux has")
}

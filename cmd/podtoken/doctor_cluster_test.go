package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
)

// The mount table has where a volume is, and the spec where it was wanted.
func TestALifetimeIsFoundUnderEitherNameOfRun(t *testing.T) {
	seconds := int64(600)
	pod := func(mountPath string) *corev1.Pod {
		token := &corev1.ServiceAccountTokenProjection{Audience: "openbao", ExpirationSeconds: &seconds, Path: "token"}
		return &corev1.Pod{Spec: corev1.PodSpec{
			Containers: []corev1.Container{{Name: "app", VolumeMounts: []corev1.VolumeMount{{Name: "t", MountPath: mountPath}}}},
			Volumes: []corev1.Volume{{Name: "t", VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{
				Sources: []corev1.VolumeProjection{{ServiceAccountToken: token}},
			}}}},
		}}
	}
	for path, mountPath := range map[string]string{
		"/tokens/token":      "/tokens",
		"/run/tokens/token":  "/var/run/tokens",
		"/var/run/app/token": "/run/app",
	} {
		lifetime, ok := lifetimeIn(pod(mountPath), path)
		assert.True(t, ok, path)
		assert.Equal(t, 10*time.Minute, lifetime, path)
	}
	_, ok := lifetimeIn(pod("/tokens"), "/other/token")
	assert.False(t, ok)
}

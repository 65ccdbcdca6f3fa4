//go:build linux

package kubernetes

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/restmapper"
	"k8s.io/utils/ptr"
)

// A manifest is a file of deploy/, as a user has it.
type manifest struct {
	name    string
	objects []*unstructured.Unstructured
}

func deployed(name string) string { return filepath.Join("..", "..", "..", "deploy", name) }

func readManifest(t *testing.T, name string) manifest {
	t.Helper()
	text, err := os.ReadFile(deployed(name))
	require.NoError(t, err)
	return parseManifest(t, name, string(text))
}

func parseManifest(t *testing.T, name, text string) manifest {
	t.Helper()
	m := manifest{name: name}
	for decoder := yaml.NewYAMLOrJSONDecoder(strings.NewReader(text), 4096); ; {
		object := &unstructured.Unstructured{}
		err := decoder.Decode(object)
		if errors.Is(err, io.EOF) {
			return m
		}
		require.NoError(t, err, name)
		m.objects = append(m.objects, object)
	}
}

// apply applies the manifest as kubectl apply does, until the test ends. The
// server refuses unknown and repeated fields.
func (m manifest) apply(t *testing.T, server *apiServer, namespace string) {
	t.Helper()
	require.NotEmpty(t, m.objects, m.name)
	for _, object := range m.objects {
		resource := server.resource(t, object, namespace)
		text, err := object.MarshalJSON()
		require.NoError(t, err)
		_, err = resource.Patch(t.Context(), object.GetName(), types.ApplyPatchType, text,
			metav1.PatchOptions{FieldManager: "kubectl", FieldValidation: metav1.FieldValidationStrict, Force: ptr.To(true)})
		require.NoError(t, err, "%s: %s", m.name, object.GetKind())
		t.Cleanup(func() {
			ctx, cancel := context.WithTimeout(context.Background(), patience)
			defer cancel()
			assert.NoError(t, resource.Delete(ctx, object.GetName(), metav1.DeleteOptions{}))
		})
	}
}

// resource is where the API server has objects of this kind.
func (s *apiServer) resource(t *testing.T, object *unstructured.Unstructured, namespace string) dynamic.ResourceInterface {
	t.Helper()
	kind := object.GroupVersionKind()
	mapping, err := s.mapper(t).RESTMapping(kind.GroupKind(), kind.Version)
	require.NoError(t, err)
	client, err := dynamic.NewForConfig(s.config)
	require.NoError(t, err)
	if mapping.Scope.Name() == meta.RESTScopeNameRoot {
		return client.Resource(mapping.Resource)
	}
	return client.Resource(mapping.Resource).Namespace(namespace)
}

func (s *apiServer) mapper(t *testing.T) meta.RESTMapper {
	t.Helper()
	groups, err := restmapper.GetAPIGroupResources(s.admin.Discovery())
	require.NoError(t, err)
	return restmapper.NewDiscoveryRESTMapper(groups)
}

// into decodes the manifest's object of a kind, strictly.
func (m manifest) into(t *testing.T, kind string, object any) {
	t.Helper()
	for _, o := range m.objects {
		if o.GetKind() == kind {
			require.NoError(t, runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(o.Object, object, true))
			return
		}
	}
	require.Fail(t, "no "+kind+" in "+m.name)
}

// podOf is a pod as a ReplicaSet makes it of a template.
func podOf(template corev1.PodTemplateSpec) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: template.ObjectMeta, Spec: template.Spec}
	pod.GenerateName = "web-7d4b9c-"
	return pod
}

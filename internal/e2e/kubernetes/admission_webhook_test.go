//go:build linux

package kubernetes

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// A webhook is one like that of EKS, for one namespace: it lets every pod
// through, and injects the identity into those that come once it is warm.
type webhook struct {
	identity identity
	warm     atomic.Bool
	seen     atomic.Int32
}

func startWebhook(t *testing.T, app *account, i identity) *webhook {
	t.Helper()
	w := &webhook{identity: i}
	server := httptest.NewTLSServer(w)
	t.Cleanup(server.Close)
	configurations := app.server.admin.AdmissionregistrationV1().MutatingWebhookConfigurations()
	_, err := configurations.Create(t.Context(), w.configuration(app, server), metav1.CreateOptions{})
	require.NoError(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		assert.NoError(t, configurations.Delete(ctx, app.namespace, metav1.DeleteOptions{}))
	})
	return w
}

func (w *webhook) configuration(app *account, server *httptest.Server) *admissionregistrationv1.MutatingWebhookConfiguration {
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	return &admissionregistrationv1.MutatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: app.namespace},
		Webhooks: []admissionregistrationv1.MutatingWebhook{{
			Name:                    "pod-identity-webhook.amazonaws.com",
			ClientConfig:            admissionregistrationv1.WebhookClientConfig{URL: ptr.To(server.URL), CABundle: certificate},
			FailurePolicy:           ptr.To(admissionregistrationv1.Ignore),
			SideEffects:             ptr.To(admissionregistrationv1.SideEffectClassNone),
			AdmissionReviewVersions: []string{"v1"},
			NamespaceSelector: &metav1.LabelSelector{
				MatchLabels: map[string]string{corev1.LabelMetadataName: app.namespace},
			},
			Rules: []admissionregistrationv1.RuleWithOperations{{
				Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
				Rule:       admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"pods"}},
			}},
		}},
	}
}

func (w *webhook) ServeHTTP(answer http.ResponseWriter, request *http.Request) {
	var review admissionv1.AdmissionReview
	var pod corev1.Pod
	if json.NewDecoder(request.Body).Decode(&review) != nil || json.Unmarshal(review.Request.Object.Raw, &pod) != nil {
		answer.WriteHeader(http.StatusBadRequest)
		return
	}
	review.Response = &admissionv1.AdmissionResponse{UID: review.Request.UID, Allowed: true}
	if w.warm.Load() {
		w.identity.inject(&pod)
		review.Response.Patch, _ = json.Marshal([]any{map[string]any{"op": "replace", "path": "/spec", "value": pod.Spec}})
		review.Response.PatchType = ptr.To(admissionv1.PatchTypeJSONPatch)
	}
	w.seen.Add(1)
	review.Request = nil
	_ = json.NewEncoder(answer).Encode(review)
}

// Package aws holds awspodid, and the fake STS of awspodidtest, against a real
// STS and S3 with tokens that a real Kubernetes API server issued, and beside
// the SDK's own default chain. README.md says what each part needs and proves.
package aws

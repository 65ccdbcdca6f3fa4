package main

import (
	"context"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/podtoken/podtoken/awspodid"
)

// The SDK understands the stand-in's answers, refusals among them.
func TestBucketLetsInWhomTheAgentGaveCredentials(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTestStage(t)
		at := s.bubble(newReport(t.Output()))
		provider, err := awspodid.New(at.pod...)
		require.NoError(t, err)
		given, err := provider.Retrieve(t.Context())
		require.NoError(t, err)
		end := provider.Stats().Expiry

		list := func(keys aws.CredentialsProvider, bucket string) (*s3.ListObjectsV2Output, string) {
			client := s3.New(s3.Options{Credentials: keys}, at.aws...)
			page, err := client.ListObjectsV2(t.Context(), &s3.ListObjectsV2Input{Bucket: &bucket})
			var refused smithy.APIError
			if err != nil {
				require.ErrorAs(t, err, &refused)
				return nil, refused.ErrorCode()
			}
			return page, ""
		}
		static := func(id, secret, token string) aws.CredentialsProvider {
			return aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
				return aws.Credentials{AccessKeyID: id, SecretAccessKey: secret, SessionToken: token}, nil
			})
		}
		mine := static(given.AccessKeyID, given.SecretAccessKey, given.SessionToken)

		page, code := list(mine, "invoices")
		require.Empty(t, code)
		require.Len(t, page.Contents, 3)
		assert.Equal(t, "2026/09.pdf", *page.Contents[0].Key)
		assert.False(t, *page.IsTruncated)

		for name, test := range map[string]struct {
			keys   aws.CredentialsProvider
			bucket string
			want   string
		}{
			"keys of elsewhere": {static("AKIAIOSFODNN7EXAMPLE", "example", "example"), "invoices", "InvalidAccessKeyId"},
			"no session token":  {static(given.AccessKeyID, given.SecretAccessKey, ""), "invoices", "InvalidToken"},
			"no keys":           {aws.AnonymousCredentials{}, "invoices", "AccessDenied"},
			"another bucket":    {mine, "receipts", "NoSuchBucket"},
		} {
			_, code := list(test.keys, test.bucket)
			assert.Equal(t, test.want, code, name)
		}

		time.Sleep(time.Until(end) + grace - 1)
		_, code = list(mine, "invoices")
		assert.Empty(t, code)
		time.Sleep(time.Nanosecond)
		_, code = list(mine, "invoices")
		assert.Equal(t, "ExpiredToken", code)
	})
}

func TestWhoSigned(t *testing.T) {
	for name, test := range map[string]struct{ header, want string }{
		"signed for S3":        {"AWS4-HMAC-SHA256 Credential=ASIA1/20261130/eu-central-1/s3/aws4_request, SignedHeaders=host, Signature=00", "ASIA1"},
		"without spaces":       {"AWS4-HMAC-SHA256 Credential=ASIA1/20261130/eu-central-1/s3/aws4_request,SignedHeaders=host,Signature=00", "ASIA1"},
		"signed for STS":       {"AWS4-HMAC-SHA256 Credential=ASIA1/20261130/eu-central-1/sts/aws4_request, SignedHeaders=host, Signature=00", ""},
		"another algorithm":    {"AWS ASIA1:00", ""},
		"a bearer token":       {"Bearer ASIA1", ""},
		"no scope":             {"AWS4-HMAC-SHA256 Credential=ASIA1, SignedHeaders=host, Signature=00", ""},
		"nothing but the name": {"AWS4-HMAC-SHA256 ", ""},
		"nothing":              {"", ""},
	} {
		t.Run(name, func(t *testing.T) { assert.Equal(t, test.want, accessKeyID(test.header)) })
	}
}

func TestBucketDoesNothingButListing(t *testing.T) {
	b := &bucket{name: "invoices", check: func(string) string { return "" }}
	for name, test := range map[string]struct{ method, url string }{
		"a put":              {http.MethodPut, "http://s3/invoices?list-type=2"},
		"the old listing":    {http.MethodGet, "http://s3/invoices"},
		"nothing but a head": {http.MethodHead, "http://s3/invoices"},
	} {
		t.Run(name, func(t *testing.T) {
			request, err := http.NewRequestWithContext(t.Context(), test.method, test.url, nil)
			require.NoError(t, err)
			request.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential=ASIA1/20261130/eu-central-1/s3/aws4_request")
			request.Header.Set("X-Amz-Security-Token", "example")
			response, err := b.RoundTrip(request)
			require.NoError(t, err)
			assert.Equal(t, http.StatusNotImplemented, response.StatusCode)
		})
	}
}

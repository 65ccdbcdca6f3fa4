package main

import (
	"encoding/xml"
	"net/http"
	"strings"
	"time"
)

// A bucket stands in for S3: it answers ListObjectsV2 for one bucket, to whom
// check lets in. It does not verify signatures, since only the agent knows the
// secret key.
type bucket struct {
	name string
	keys []string

	// check returns S3's code of a refusal, or "".
	check func(accessKeyID string) (code string)
}

// page is the answer to ListObjectsV2, as far as it matters here.
type page struct {
	XMLName     xml.Name `xml:"http://s3.amazonaws.com/doc/2006-03-01/ ListBucketResult"`
	Name        string
	KeyCount    int
	MaxKeys     int
	IsTruncated bool
	Contents    []object
}

type object struct {
	Key          string
	LastModified time.Time
	Size         int
}

// refusal is S3's answer to what it does not do.
type refusal struct {
	XMLName xml.Name `xml:"Error"`
	Code    string
	Message string
}

// refusals are S3's own words, and its status for them.
var refusals = map[string]struct {
	status  int
	message string
}{
	"AccessDenied":       {http.StatusForbidden, "Access Denied"},
	"InvalidAccessKeyId": {http.StatusForbidden, "The AWS Access Key Id you provided does not exist in our records."},
	"ExpiredToken":       {http.StatusBadRequest, "The provided token has expired."},
	"InvalidToken":       {http.StatusBadRequest, "The provided token is malformed or otherwise invalid."},
	"NoSuchBucket":       {http.StatusNotFound, "The specified bucket does not exist"},
	"NotImplemented":     {http.StatusNotImplemented, "A header you provided implies functionality that is not implemented."},
}

func (b *bucket) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/xml")
	if code := b.refuse(r); code != "" {
		w.WriteHeader(refusals[code].status)
		_ = xml.NewEncoder(w).Encode(refusal{Code: code, Message: refusals[code].message})
		return
	}
	answer := page{Name: b.name, KeyCount: len(b.keys), MaxKeys: 1000}
	for _, key := range b.keys {
		answer.Contents = append(answer.Contents, object{Key: key, LastModified: time.Now().UTC(), Size: len(key)})
	}
	_ = xml.NewEncoder(w).Encode(answer) // fails if the client has gone
}

// refuse looks at who asks before it looks at what for, as S3 does.
func (b *bucket) refuse(r *http.Request) (code string) {
	id := accessKeyID(r.Header.Get("Authorization"))
	if id == "" {
		return "AccessDenied"
	}
	if code := b.check(id); code != "" {
		return code
	}
	switch {
	case r.Header.Get("X-Amz-Security-Token") == "": // temporary credentials are of three parts
		return "InvalidToken"
	case strings.Trim(r.URL.Path, "/") != b.name:
		return "NoSuchBucket"
	case r.Method != http.MethodGet || r.URL.Query().Get("list-type") != "2":
		return "NotImplemented"
	}
	return ""
}

// accessKeyID is who signed a request, or "" if it is not signed for S3:
//
//	AWS4-HMAC-SHA256 Credential=ID/20261130/eu-central-1/s3/aws4_request, SignedHeaders=…, Signature=…
func accessKeyID(authorization string) string {
	fields, ok := strings.CutPrefix(authorization, "AWS4-HMAC-SHA256 ")
	if !ok {
		return ""
	}
	for field := range strings.SplitSeq(fields, ",") {
		if credential, ok := strings.CutPrefix(strings.TrimSpace(field), "Credential="); ok {
			scope := strings.Split(credential, "/")
			if len(scope) == 5 && scope[3] == "s3" && scope[4] == "aws4_request" {
				return scope[0]
			}
		}
	}
	return ""
}

package awspodidtest

import (
	"crypto/sha256"
	"encoding/base32"
	"encoding/xml"
	"fmt"
	"net/http"
	"strings"
	"time"
)

const (
	xmlType   = "text/xml"
	namespace = "https://sts.amazonaws.com/doc/2011-06-15/"
)

// assumeResponse is a success, its elements in the service's order.
type assumeResponse struct {
	XMLName    xml.Name `xml:"AssumeRoleWithWebIdentityResponse"`
	Namespace  string   `xml:"xmlns,attr"`
	Subject    string   `xml:"AssumeRoleWithWebIdentityResult>SubjectFromWebIdentityToken"`
	Audience   string   `xml:"AssumeRoleWithWebIdentityResult>Audience"`
	UserARN    string   `xml:"AssumeRoleWithWebIdentityResult>AssumedRoleUser>Arn"`
	UserID     string   `xml:"AssumeRoleWithWebIdentityResult>AssumedRoleUser>AssumedRoleId"`
	Token      string   `xml:"AssumeRoleWithWebIdentityResult>Credentials>SessionToken"`
	Secret     string   `xml:"AssumeRoleWithWebIdentityResult>Credentials>SecretAccessKey"`
	Expiration string   `xml:"AssumeRoleWithWebIdentityResult>Credentials>Expiration"`
	KeyID      string   `xml:"AssumeRoleWithWebIdentityResult>Credentials>AccessKeyId"`
	Provider   string   `xml:"AssumeRoleWithWebIdentityResult>Provider"`
	RequestID  string   `xml:"ResponseMetadata>RequestId"`
}

// errorResponse is a refusal.
type errorResponse struct {
	XMLName   xml.Name `xml:"ErrorResponse"`
	Namespace string   `xml:"xmlns,attr"`
	Type      string   `xml:"Error>Type"`
	Code      string   `xml:"Error>Code"`
	Message   string   `xml:"Error>Message"`
	RequestID string   `xml:"RequestId"`
}

// assumed is the answer that hands out credentials.
func assumed(wanted *assumption, token *claims, audience string, s secrets, expiry time.Time) *answer {
	account := accountOf(wanted.role)
	role := wanted.role[strings.LastIndex(wanted.role, "/")+1:]
	partition := strings.Split(wanted.role, ":")[1]
	_, provider, _ := strings.Cut(token.Issuer, "://")
	id := uuid()
	return document(http.StatusOK, id, assumeResponse{
		Namespace:  namespace,
		Subject:    token.Subject,
		Audience:   audience,
		UserARN:    fmt.Sprintf("arn:%s:sts::%s:assumed-role/%s/%s", partition, account, role, wanted.session),
		UserID:     roleID(wanted.role) + ":" + wanted.session,
		Token:      s.sessionToken,
		Secret:     s.secretAccessKey,
		Expiration: expiry.Format(time.RFC3339),
		KeyID:      s.accessKeyID,
		Provider:   fmt.Sprintf("arn:%s:iam::%s:oidc-provider/%s", partition, account, provider),
		RequestID:  id,
	})
}

// roleID is a stand-in for the random ID that a role gets when it is made.
func roleID(arn string) string {
	sum := sha256.Sum256([]byte(arn))
	return "AROA" + base32.StdEncoding.EncodeToString(sum[:])[:17]
}

// stsError is a refusal in the service's shape. It blames the sender for what
// is under 500.
func stsError(status int, code, message string) *answer {
	blame := "Sender"
	if status >= http.StatusInternalServerError {
		blame = "Receiver"
	}
	id := uuid()
	a := document(status, id, errorResponse{
		Namespace: namespace, Type: blame, Code: code, Message: message, RequestID: id,
	})
	a.code = code
	return a
}

func document(status int, requestID string, v any) *answer {
	body, _ := xml.MarshalIndent(v, "", "  ") // texts only: cannot fail
	return &answer{
		status: status,
		header: http.Header{"Content-Type": {xmlType}, "X-Amzn-Requestid": {requestID}},
		body:   append(body, '\n'),
	}
}

// STSError is a Fault that answers in the shape of STS's errors.
func STSError(status int, code, message string) *Fault {
	a := stsError(status, code, message)
	return &Fault{Status: status, Body: string(a.body), Header: a.header, code: code}
}

// STSThrottled is what STS answers to too many requests: status 400.
func STSThrottled() *Fault { return STSError(http.StatusBadRequest, "Throttling", "Rate exceeded") }

// STSNoVerificationKey is what STS answers when it could not fetch the
// issuer's keys, which often passes.
func STSNoVerificationKey() *Fault {
	return STSError(http.StatusBadRequest, "InvalidIdentityToken", noKey)
}

// STSIDPCommunicationError is what STS answers when the issuer cannot be
// reached.
func STSIDPCommunicationError() *Fault {
	return STSError(http.StatusBadRequest, "IDPCommunicationError", "The request could not be fulfilled because the "+
		"identity provider (IDP) that was asked to verify the incoming identity token could not be reached")
}

// STSInternalFailure is an STS that has failed: status 500.
func STSInternalFailure() *Fault {
	return STSError(http.StatusInternalServerError, "InternalFailure",
		"The request processing has failed because of an unknown error, exception or failure.")
}

// STSUnavailable is an STS that is overloaded: status 503.
func STSUnavailable() *Fault {
	return STSError(http.StatusServiceUnavailable, "ServiceUnavailable",
		"The request has failed due to a temporary failure of the server.")
}

//go:build linux

package aws

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/stretchr/testify/require"

	"github.com/podtoken/podtoken/awspodid/awspodidtest"
	"github.com/podtoken/podtoken/internal/e2e/bed"
)

const (
	region = "us-east-1"
	bucket = "reports"

	// The roles, each of which trusts the service account of the same name.
	appRole   = "arn:aws:iam::111122223333:role/app"
	otherRole = "arn:aws:iam::111122223333:role/other"

	// lifetime is that of credentials for which the client names none. No
	// client can ask for less than a quarter of an hour, but the server's
	// configuration can give it.
	lifetime = 20 * time.Second
)

// A weed is a running SeaweedFS: STS and S3 at one address.
type weed struct {
	url     string
	admin   sdk.Credentials
	node    sdk.Credentials // of the role that a node's pods would get from IMDS
	dir     string
	program string
	flags   []string
	process *bed.Process
}

// sockets are the files that weed makes outside of its folder.
var sockets []string

// startedWeed is the one that all tests share.
var startedWeed = sync.OnceValues(startWeed)

func requireWeed(t *testing.T) *weed {
	t.Helper()
	w, err := startedWeed()
	require.NoError(t, err)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the end of weed's output:\n%s", w.process.Tail())
		}
	})
	return w
}

func startWeed() (*weed, error) {
	c, err := startedCluster()
	if err != nil {
		return nil, err
	}
	program, err := bed.Build(".", "github.com/seaweedfs/seaweedfs/weed", "weed")
	if err != nil {
		return nil, err
	}
	dir, err := folder("weed")
	if err != nil {
		return nil, err
	}
	w := &weed{dir: dir, program: program, admin: keyPair("ADMIN"), node: keyPair("NODE")}
	if err := w.configure(c); err != nil {
		return nil, err
	}
	if err := w.start(); err != nil {
		return nil, err
	}
	return w, w.process.Until(w.ready)
}

func keyPair(name string) sdk.Credentials {
	return sdk.Credentials{AccessKeyID: name + rand.Text()[:12], SecretAccessKey: rand.Text()}
}

// configure writes weed's configuration: who may do what, and who may become
// whom.
func (w *weed) configure(c *cluster) error {
	identity := func(name string, c sdk.Credentials, actions ...string) object {
		return object{
			"name": name, "actions": actions,
			"credentials": []object{{"accessKey": c.AccessKeyID, "secretKey": c.SecretAccessKey}},
		}
	}
	role := func(name, arn string) object {
		return object{
			"roleName": name, "roleArn": arn, "attachedPolicies": []string{"reports"},
			"trustPolicy": object{"Version": "2012-10-17", "Statement": []object{{
				"Effect": "Allow", "Action": []string{"sts:AssumeRoleWithWebIdentity"},
				"Principal": object{"Federated": "cluster"},
				"Condition": object{"StringEquals": object{"oidc:sub": subject(name)}},
			}}},
		}
	}
	key := make([]byte, 32)
	_, _ = rand.Read(key) // never fails
	files := map[string]object{
		"ids.json": {"identities": []object{
			identity("admin", w.admin, "Admin", "Read", "Write", "List"),
			identity("node", w.node, "Read:"+bucket, "Write:"+bucket),
		}},
		"iam.json": {
			"sts": object{
				"tokenDuration": lifetime.String(), "maxSessionLength": "12h", "issuer": "seaweedfs-sts",
				"signingKey": base64.StdEncoding.EncodeToString(key),
			},
			"policy": object{"defaultEffect": "Deny", "storeType": "memory"},
			"providers": []object{{"name": "cluster", "type": "oidc", "enabled": true, "config": object{
				"issuer": bed.APIAudience, "clientIds": []string{awspodidtest.STSAudience},
				"jwksUri": c.URL + "/openid/v1/jwks", "tlsCaCert": c.CAFile,
			}}},
			"policies": []object{{"name": "reports", "document": object{"Version": "2012-10-17", "Statement": []object{{
				"Effect": "Allow", "Action": []string{"s3:*"},
				"Resource": []string{"arn:aws:s3:::" + bucket, "arn:aws:s3:::" + bucket + "/*"},
			}}}}},
			"roles": []object{role("app", appRole), role("other", otherRole)},
		},
	}
	for name, content := range files {
		text, err := json.Marshal(content)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(w.dir, name), text, 0o600); err != nil {
			return err
		}
	}
	return w.choosePorts()
}

// choosePorts names a free port for everything that weed listens on: those of
// gRPC would else be the others and 10,000.
func (w *weed) choosePorts() error {
	w.flags = []string{
		"server", "-dir=" + w.dir, "-ip=127.0.0.1", "-ip.bind=127.0.0.1",
		"-master.telemetry=false", // it is on by default, and calls out
		"-master.volumeSizeLimitMB=64", "-volume.max=4",
		"-master.electionTimeout=500ms", "-master.heartbeatInterval=100ms",
		"-filer", "-filer.localSocket=" + filepath.Join(w.dir, "filer.sock"),
		"-s3", "-s3.localSocket=" + filepath.Join(w.dir, "s3.sock"),
		"-s3.config=" + filepath.Join(w.dir, "ids.json"), "-s3.iam.config=" + filepath.Join(w.dir, "iam.json"),
		"-s3.port.iceberg=0", "-s3.port.lance=0",
	}
	for _, flag := range []string{
		"master.port", "master.port.grpc", "volume.port", "volume.port.grpc",
		"filer.port", "filer.port.grpc", "s3.port.grpc", "s3.port",
	} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		defer l.Close() // once all are chosen, so that no two are the same
		if part, found := strings.CutSuffix(flag, ".port.grpc"); found {
			sockets = append(sockets, fmt.Sprintf("/tmp/seaweedfs-%s-grpc-%d.sock", part, l.Addr().(*net.TCPAddr).Port))
		}
		w.url = "http://" + l.Addr().String()
		w.flags = append(w.flags, fmt.Sprintf("-%s=%d", flag, l.Addr().(*net.TCPAddr).Port))
	}
	return nil
}

// start starts weed, for the first time or again on what it stored.
func (w *weed) start() (err error) {
	w.process, err = bed.Start(w.dir, w.program, w.flags...)
	return err
}

// ready makes the bucket if need be, writes to it and reads it.
func (w *weed) ready() error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	client := w.client(w.admin)
	if _, err := client.CreateBucket(ctx, &s3.CreateBucketInput{Bucket: sdk.String(bucket)}); err != nil {
		if _, err := client.HeadBucket(ctx, &s3.HeadBucketInput{Bucket: sdk.String(bucket)}); err != nil {
			return err
		}
	}
	return putAndGet(ctx, client, "ready")
}

// client is one with fixed keys, which repeats nothing.
func (w *weed) client(c sdk.Credentials) *s3.Client {
	return s3.New(s3.Options{
		Region: region, BaseEndpoint: sdk.String(w.url), UsePathStyle: true, Retryer: sdk.NopRetryer{},
		Credentials: credentials.StaticCredentialsProvider{Value: c},
	})
}

// putAndGet writes an object and reads it again.
func putAndGet(ctx context.Context, client *s3.Client, key string) error {
	content := []byte(rand.Text())
	if _, err := client.PutObject(ctx, &s3.PutObjectInput{
		Bucket: sdk.String(bucket), Key: &key, Body: bytes.NewReader(content),
	}); err != nil {
		return err
	}
	object, err := client.GetObject(ctx, &s3.GetObjectInput{Bucket: sdk.String(bucket), Key: &key})
	if err != nil {
		return err
	}
	defer object.Body.Close()
	got, err := io.ReadAll(object.Body)
	if err != nil {
		return err
	}
	if !bytes.Equal(got, content) {
		return errors.New("the object is not what was written")
	}
	return nil
}

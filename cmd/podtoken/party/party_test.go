package party_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/podtoken/podtoken/awspodid"
	"github.com/podtoken/podtoken/awspodid/awspodidtest"
	"github.com/podtoken/podtoken/baoauth/baoauthtest"
	"github.com/podtoken/podtoken/cmd/podtoken/party"
	"github.com/podtoken/podtoken/tokenfile/tokenfiletest"
	"github.com/podtoken/podtoken/vaultauth/vaultauthtest"
)

var newIssuer = sync.OnceValue(func() *tokenfiletest.Issuer {
	issuer := new(tokenfiletest.Issuer)
	if err := issuer.RotateKey(tokenfiletest.ES256); err != nil {
		panic(err)
	}
	return issuer
})

// mounted puts a token for an audience into a volume.
func mounted(t *testing.T, audience string) string {
	t.Helper()
	volume, err := tokenfiletest.NewVolume(t.TempDir())
	require.NoError(t, err)
	token, err := newIssuer().Token(tokenfiletest.Request{Audiences: []string{audience}, Namespace: "shop", ServiceAccount: "web"})
	require.NoError(t, err)
	require.NoError(t, volume.Write(token))
	return volume.Path()
}

// ended is how a login did, with a text that holds nothing of the token.
func ended(t *testing.T, p party.Party) (party.Outcome, string) {
	t.Helper()
	err := p.Login(t.Context())
	assert.Equal(t, party.Judge(err) == party.Refused, party.Rejected(err))
	assert.Equal(t, party.Judge(err) == party.NoAnswer, party.Unreachable(err))
	if err == nil {
		return party.Judge(err), ""
	}
	raw, _ := os.ReadFile(p.Path())
	for part := range strings.SplitSeq(string(raw), ".") {
		assert.False(t, part != "" && strings.Contains(err.Error(), part), "a part of the token is in the error")
	}
	assert.NotContains(t, err.Error(), "\n")
	return party.Judge(err), err.Error()
}

// server is what baoauthtest and vaultauthtest have in common.
type server interface {
	http.Handler
	Transport() http.RoundTripper
	Seal()
	SetDown(bool)
}

func TestVault(t *testing.T) {
	bao := baoauthtest.New(newIssuer())
	bao.Enable("kubernetes", baoauthtest.Mount{Type: "jwt"})
	bao.SetRole("kubernetes", "web", baoauthtest.Role{BoundAudiences: []string{"openbao"}})
	vault := vaultauthtest.New(newIssuer())
	vault.Product = vaultauthtest.Vault
	vault.Enable("kubernetes", vaultauthtest.Mount{Type: "jwt"})
	vault.SetRole("kubernetes", "web", vaultauthtest.Role{BoundAudiences: []string{"openbao"}})
	path := mounted(t, "openbao")
	for name, c := range map[string]struct {
		variable, product string
		server            server
	}{
		"OpenBao": {"BAO_ADDR", "OpenBao", bao},
		"Vault":   {"VAULT_ADDR", "Vault", vault},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("BAO_ADDR", "")
			t.Setenv("VAULT_ADDR", "")
			t.Setenv(c.variable, "https://user:swordfish@server.example:8200")
			client := &http.Client{Transport: c.server.Transport()}
			with := func(o party.VaultOptions) party.Party {
				o.HTTPClient = client
				if o.Path == "" {
					o.Path = path
				}
				p, err := party.Vault(o)
				require.NoError(t, err)
				return p
			}
			web := with(party.VaultOptions{Role: "web", Audience: "openbao"})
			assert.Equal(t, c.product+" at https://user:xxxxx@server.example:8200, auth/kubernetes, role web", web.String())
			assert.Equal(t, "openbao", web.Audience())
			assert.Equal(t, path, web.Path())

			outcome, text := ended(t, web)
			assert.Equal(t, party.Accepted, outcome, text)
			outcome, text = ended(t, with(party.VaultOptions{Role: "web"}))
			assert.Equal(t, party.Accepted, outcome, text)
			outcome, _ = ended(t, with(party.VaultOptions{Role: "other", Audience: "openbao"}))
			assert.Equal(t, party.Refused, outcome, "no such role")
			outcome, _ = ended(t, with(party.VaultOptions{Role: "web", Mount: "auth/elsewhere/"}))
			assert.Equal(t, party.Refused, outcome, "no such mount")
			outcome, text = ended(t, with(party.VaultOptions{Role: "web", Audience: "payments"}))
			assert.Equal(t, party.NotSent, outcome, "an audience that the token lacks")
			assert.Contains(t, text, `want "payments"`)
			outcome, _ = ended(t, with(party.VaultOptions{Role: "web", Path: path + "-not"}))
			assert.Equal(t, party.NotSent, outcome, "no file")
			outcome, _ = ended(t, with(party.VaultOptions{Role: "web", Mount: "a b"}))
			assert.Equal(t, party.NotSent, outcome, "a mount that is no path")

			c.server.Seal()
			outcome, _ = ended(t, web)
			assert.Equal(t, party.NoAnswer, outcome, "sealed")
			c.server.SetDown(true)
			outcome, _ = ended(t, web)
			assert.Equal(t, party.NoAnswer, outcome, "down")
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			assert.Equal(t, party.Interrupted, party.Judge(web.Login(ctx)))
		})
	}
	assert.NotZero(t, bao.Counts().Logins.OK)
	assert.Equal(t, bao.Counts().Logins.OK, bao.Counts().Revocations.OK, "nothing is left on the server")
	assert.NotZero(t, vault.Counts().Logins.OK)
	assert.Equal(t, vault.Counts().Logins.OK, vault.Counts().Revocations.OK)
}

func TestVaultOfTheEnvironment(t *testing.T) {
	t.Setenv("BAO_ADDR", "")
	t.Setenv("VAULT_ADDR", "")
	_, err := party.Vault(party.VaultOptions{Role: "web", Path: "/token"})
	require.ErrorIs(t, err, party.ErrNoServer)
	_, err = party.Vault(party.VaultOptions{Role: "web"})
	require.Error(t, err)

	t.Setenv("VAULT_ADDR", "https://vault.example")
	t.Setenv("BAO_ADDR", "https://bao.example")
	p, err := party.Vault(party.VaultOptions{Role: "web", Path: "/token", Namespace: "team"})
	require.NoError(t, err)
	assert.Equal(t, "OpenBao at https://bao.example, auth/kubernetes, role web, namespace team", p.String())

	t.Setenv("BAO_ADDR", "https://user:swordfish@bao.example:port")
	_, err = party.Vault(party.VaultOptions{Role: "web", Path: "/token"})
	require.Error(t, err)
	assert.NotContains(t, err.Error(), "swordfish")
}

func TestAWS(t *testing.T) {
	const role = "arn:aws:iam::111122223333:role/web"
	spec := awspodidtest.PodSpec{Token: tokenfiletest.Request{Namespace: "shop", ServiceAccount: "web", Pod: "web-0"}, RoleARN: role}
	inPod := func(pod *awspodidtest.Pod, agent *awspodidtest.Agent) func(*awspodid.Options) {
		return func(o *awspodid.Options) {
			o.Lookup, o.HTTPClient = pod.Lookup, &http.Client{Transport: agent.Transport()}
		}
	}
	t.Run("Pod Identity", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			agent := awspodidtest.NewAgent(newIssuer())
			agent.Associate("shop", "web", role)
			pod, err := awspodidtest.NewPodIdentityPod(t.TempDir(), newIssuer(), spec)
			require.NoError(t, err)
			p, err := party.AWS(inPod(pod, agent))
			require.NoError(t, err)
			assert.Equal(t, "AWS by EKS Pod Identity, agent http://169.254.170.23/v1/credentials", p.String())
			assert.Equal(t, "pods.eks.amazonaws.com", p.Audience())
			path, _ := pod.Lookup("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE")
			assert.Equal(t, path, p.Path())
			for range 3 {
				outcome, text := ended(t, p)
				assert.Equal(t, party.Accepted, outcome, text)
			}
			assert.Equal(t, 3, agent.Counts().OK, "nothing is cached here")

			agent.SetDown(true)
			outcome, _ := ended(t, p)
			assert.Equal(t, party.NoAnswer, outcome)
			agent.Restart()
			agent.Dissociate("shop", "web")
			outcome, _ = ended(t, p)
			assert.Equal(t, party.Refused, outcome, "no association")
			agent.SetUpstream(awspodidtest.ThrottledAs400)
			outcome, _ = ended(t, p)
			assert.Equal(t, party.NoAnswer, outcome, "throttled")
		})
	})
	t.Run("IRSA", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			pod, err := awspodidtest.NewWebIdentityPod(t.TempDir(), newIssuer(), spec)
			require.NoError(t, err)
			p, err := party.AWS(func(o *awspodid.Options) { o.Lookup = pod.Lookup })
			require.NoError(t, err)
			assert.Equal(t, "AWS by IRSA, role "+role, p.String())
			assert.Equal(t, "sts.amazonaws.com", p.Audience())
		})
	})
	t.Run("nothing injected", func(t *testing.T) {
		pod := awspodidtest.NewPod()
		_, err := party.AWS(func(o *awspodid.Options) { o.Lookup = pod.Lookup })
		require.ErrorIs(t, err, awspodid.ErrNotInjected)
		assert.Equal(t, party.NotSent, party.Judge(err))
	})
}

func TestJudgeOfSTS(t *testing.T) {
	for name, c := range map[string]struct {
		err     awspodid.STSError
		outcome party.Outcome
	}{
		"denied":                       {awspodid.STSError{StatusCode: 403, Code: "AccessDenied"}, party.Refused},
		"expired by AWS's clock":       {awspodid.STSError{StatusCode: 400, Code: "ExpiredTokenException"}, party.Refused},
		"an audience it does not know": {awspodid.STSError{StatusCode: 400, Code: "InvalidIdentityToken", Message: "Incorrect token audience"}, party.Refused},
		"keys not fetched":             {awspodid.STSError{StatusCode: 400, Code: "InvalidIdentityToken", Message: "Couldn't retrieve verification key"}, party.NoAnswer},
		"throttled":                    {awspodid.STSError{StatusCode: 400, Code: "Throttling"}, party.NoAnswer},
		"issuer not reached":           {awspodid.STSError{StatusCode: 400, Code: "IDPCommunicationError"}, party.NoAnswer},
		"down":                         {awspodid.STSError{StatusCode: 503, Code: "ServiceUnavailable"}, party.NoAnswer},
		"a proxy's 403":                {awspodid.STSError{StatusCode: 403}, party.NoAnswer},
		"no answer":                    {awspodid.STSError{}, party.NoAnswer},
	} {
		t.Run(name, func(t *testing.T) { assert.Equal(t, c.outcome, party.Judge(&c.err)) })
	}
	for name, c := range map[string]struct {
		err     awspodid.AgentError
		outcome party.Outcome
	}{
		"no association": {awspodid.AgentError{StatusCode: 404}, party.Refused},
		"throttled":      {awspodid.AgentError{StatusCode: 400, Message: "[ID]: (ThrottlingException): Rate exceeded"}, party.NoAnswer},
		"too many":       {awspodid.AgentError{StatusCode: 429}, party.NoAnswer},
		"failed":         {awspodid.AgentError{StatusCode: 500}, party.NoAnswer},
	} {
		t.Run("agent: "+name, func(t *testing.T) { assert.Equal(t, c.outcome, party.Judge(&c.err)) })
	}
}

func TestHTTP(t *testing.T) {
	path := mounted(t, "payments")
	var status int
	var elsewhere int
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere++ }))
	defer other.Close()
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") == "" { // to see whether it needs a token
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		if _, err := newIssuer().Verify(strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "), "payments"); err != nil {
			t.Error("no good bearer token")
		}
		w.Header().Set("Location", other.URL)
		w.WriteHeader(status)
		_, _ = w.Write([]byte("you\nsent " + r.Header.Get("Authorization")))
	}))
	defer service.Close()
	p, err := party.HTTP(party.HTTPOptions{URL: service.URL + "/whoami?key=swordfish", Path: path, Audience: "payments"})
	require.NoError(t, err)
	assert.Equal(t, service.URL+"/whoami", p.String())
	for name, c := range map[string]struct {
		status  int
		outcome party.Outcome
		text    string
	}{
		"accepted":        {200, party.Accepted, ""},
		"accepted, empty": {204, party.Accepted, ""},
		"unauthorized":    {401, party.Refused, `401 "you\nsent Bearer [token]"; it refused the token`},
		"forbidden":       {403, party.Refused, "403"},
		"elsewhere":       {302, party.NoAnswer, "redirects are not followed"},
		"not found":       {404, party.NoAnswer, "is it the right URL?"},
		"throttled":       {429, party.NoAnswer, "429"},
		"failed":          {503, party.NoAnswer, "503"},
	} {
		t.Run(name, func(t *testing.T) {
			status = c.status
			outcome, text := ended(t, p)
			assert.Equal(t, c.outcome, outcome)
			assert.Contains(t, text, c.text)
			assert.NotContains(t, text, "swordfish")
			assert.Zero(t, elsewhere, "the token does not go elsewhere")
		})
	}
	service.Close()
	outcome, text := ended(t, p)
	assert.Equal(t, party.NoAnswer, outcome)
	assert.NotContains(t, text, "swordfish")
}

func TestHTTPThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := &http.Client{Transport: hanging{}}
		p, err := party.HTTP(party.HTTPOptions{URL: "https://payments.example", Path: mounted(t, "payments"), HTTPClient: client})
		require.NoError(t, err)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		began := time.Now()
		assert.Equal(t, party.NoAnswer, party.Judge(p.Login(ctx)))
		assert.Equal(t, time.Minute, time.Since(began))
	})
}

type hanging struct{}

func (hanging) RoundTrip(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
}

func TestWhereNoTokenGoes(t *testing.T) {
	for name, c := range map[string]struct{ url, text string }{
		"clear text":    {"http://payments.example/", "is not https"},
		"credentials":   {"https://user:swordfish@payments.example/", "has credentials in it"},
		"no host":       {"https:///path", "has no host"},
		"no URL":        {"https://\x00swordfish", "cannot be read"},
		"nothing":       {"", "has no host"},
		"another thing": {"ftp://payments.example", `has the scheme "ftp"`},
		"a name":        {"http://127.0.0.1.example", "is not https"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := party.HTTP(party.HTTPOptions{URL: c.url, Path: "/token"})
			require.ErrorContains(t, err, c.text)
			assert.NotContains(t, err.Error(), "swordfish")
		})
	}
	_, err := party.HTTP(party.HTTPOptions{URL: "https://payments.example"})
	require.ErrorContains(t, err, "no token file")
}

func TestErrorsOfNothing(t *testing.T) {
	assert.Equal(t, "GET : no answer", new(party.HTTPError).Error())
}

// What a party says is foreign, and some of it comes from the connection.
func TestNothingOfTheRequestIsInTheText(t *testing.T) {
	path := mounted(t, "payments")
	raw, err := os.ReadFile(path)
	require.NoError(t, err)
	for name, answer := range map[string]func(bearer string) string{
		"a header without a colon":    func(bearer string) string { return "HTTP/1.1 200 OK\r\n" + bearer + "\r\n\r\n" },
		"the request itself":          func(bearer string) string { return "GET /whoami?key=swordfish HTTP/1.1\r\n" + bearer + "\r\n\r\n" },
		"the beginning of the token":  func(bearer string) string { return refusedWith("not good: " + bearer[:40]) },
		"the end of the token":        func(bearer string) string { return refusedWith("not good: ..." + bearer[len(bearer)-12:]) },
		"the token until it is cut":   func(bearer string) string { return refusedWith(strings.Repeat(bearer, 20)) },
		"the token as another's part": func(bearer string) string { return refusedWith("x" + bearer[20:90] + "x") },
	} {
		t.Run(name, func(t *testing.T) {
			p, err := party.HTTP(party.HTTPOptions{
				URL: "https://payments.example/whoami?key=swordfish", Path: path, Audience: "payments",
				HTTPClient: &http.Client{Transport: answering(t, answer)},
			})
			require.NoError(t, err)
			_, text := ended(t, p)
			require.NotEmpty(t, text)
			assert.NotContains(t, text, "swordfish")
			for i := 0; i+8 <= len(raw); i++ {
				if strings.Contains(text, string(raw[i:i+8])) {
					t.Fatal("a part of the token is in the error")
				}
			}
		})
	}
}

func refusedWith(body string) string {
	return fmt.Sprintf("HTTP/1.1 403 Forbidden\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
}

// answering is a connection on which the server answers what it likes.
func answering(t *testing.T, answer func(bearer string) string) http.RoundTripper {
	return &http.Transport{DialTLSContext: func(context.Context, string, string) (net.Conn, error) {
		client, server := net.Pipe()
		go func() {
			defer server.Close()
			request, err := http.ReadRequest(bufio.NewReader(server))
			if err != nil {
				return
			}
			_, _ = io.WriteString(server, answer(request.Header.Get("Authorization")))
		}()
		t.Cleanup(func() { _ = client.Close() })
		return client, nil
	}}
}

// A health check answers 200 to everybody: to be accepted by it shows nothing.
func TestHTTPThatAcceptsAnybody(t *testing.T) {
	asked := map[bool]int{}
	open := true
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		with := r.Header.Get("Authorization") != ""
		asked[with]++
		if !with && !open {
			w.WriteHeader(http.StatusUnauthorized)
		}
	}))
	defer service.Close()
	p, err := party.HTTP(party.HTTPOptions{URL: service.URL + "/healthz", Path: mounted(t, "payments"), Audience: "payments"})
	require.NoError(t, err)
	for range 2 {
		err := p.Login(t.Context())
		require.ErrorIs(t, err, party.ErrNoTokenNeeded)
		assert.Contains(t, err.Error(), "/healthz")
		assert.Equal(t, party.NotSent, party.Judge(err))
	}
	open = false
	asked[false] = 0
	for range 3 {
		require.NoError(t, p.Login(t.Context()))
	}
	assert.Equal(t, 1, asked[false], "once it is known, it is not asked again")
}

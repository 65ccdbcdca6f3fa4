package tokenfile_test

import (
	"bytes"
	"context"
	"encoding/gob"
	"encoding/json"
	"encoding/xml"
	"errors"
	"expvar"
	"fmt"
	"html/template"
	"io"
	"log"
	"log/slog"
	"os"
	"os/exec"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	texttemplate "text/template"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/podtoken/podtoken/tokenfile"
	"github.com/podtoken/podtoken/tokenfile/tokenfiletest"
)

// formats are the verbs of package fmt, those that it does not know included,
// bare and with flags, width and precision.
func formats() (list []string) {
	for _, verb := range "vTtbcdoOqxXUeEfFgGspwz" {
		for _, flags := range []string{"", "+", "#", "-", " ", "0", "+#", "# ", "4", "-300", ".3", "500.400", "[1]"} {
			list = append(list, "%"+flags+string(verb))
		}
	}
	return append(list, "%", "%!", "%[2]v", "%*v", "%v %v", "no verb")
}

// recorder is a testing.T that keeps what an assertion would print.
type recorder struct{ bytes.Buffer }

func (r *recorder) Errorf(format string, args ...any) { fmt.Fprintf(r, format, args...) }

// common are the formats of them that somebody does write.
var common = []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%p", "%t", "%z", "%500.400s"}

// printers write a value in all the ways by which values get into logs, these
// formats among them.
func printers(formats []string) map[string]func(w io.Writer, value any) {
	all := map[string]func(io.Writer, any){
		"print":     func(w io.Writer, v any) { fmt.Fprint(w, v) },
		"println":   func(w io.Writer, v any) { fmt.Fprintln(w, v, v) },
		"log":       func(w io.Writer, v any) { log.New(w, "", 0).Println(v) },
		"slog text": func(w io.Writer, v any) { record(slog.NewTextHandler(w, nil), v) },
		"slog JSON": func(w io.Writer, v any) { record(slog.NewJSONHandler(w, nil), v) },
		"JSON": func(w io.Writer, v any) {
			data, err := json.MarshalIndent(v, "", " ")
			fmt.Fprintf(w, "%s %v", data, err)
		},
		"XML": func(w io.Writer, v any) { fmt.Fprint(w, xml.NewEncoder(w).Encode(v)) },
		"gob": func(w io.Writer, v any) { fmt.Fprint(w, gob.NewEncoder(w).Encode(v)) },
		"text template": func(w io.Writer, v any) {
			fmt.Fprint(w, texttemplate.Must(texttemplate.New("").Parse(`{{.}} {{printf "%#v" .}} {{. | html}}`)).Execute(w, v))
		},
		"HTML template": func(w io.Writer, v any) {
			fmt.Fprint(w, template.Must(template.New("").Parse(`<p title="{{.}}">{{.}}<script>let x = {{.}}</script>`)).Execute(w, v))
		},
		"expvar":      func(w io.Writer, v any) { fmt.Fprint(w, expvar.Func(func() any { return v }).String()) },
		"error %v":    func(w io.Writer, v any) { fmt.Fprint(w, fmt.Errorf("login with %v: %w", v, io.EOF)) },
		"error %+v":   func(w io.Writer, v any) { fmt.Fprintf(w, "%+v", fmt.Errorf("login with %+v", v)) },
		"joined":      func(w io.Writer, v any) { fmt.Fprint(w, errors.Join(fmt.Errorf("%#v", v), io.EOF)) },
		"context":     func(w io.Writer, v any) { fmt.Fprint(w, context.WithValue(context.Background(), contextKey{}, v)) },
		"panic value": func(w io.Writer, v any) { defer func() { fmt.Fprint(w, recover()) }(); panic(v) },
		// testify's differences follow unexported fields and call no methods.
		"assert.Equal":     func(w io.Writer, v any) { assertion(w, func(t assert.TestingT) { assert.Equal(t, 1, v) }) },
		"assert.Equal nil": func(w io.Writer, v any) { assertion(w, func(t assert.TestingT) { assert.Equal(t, zeroLike(v), v) }) },
		"assert.NotEqual":  func(w io.Writer, v any) { assertion(w, func(t assert.TestingT) { assert.NotEqual(t, v, v) }) },
		"assert.Nil":       func(w io.Writer, v any) { assertion(w, func(t assert.TestingT) { assert.Nil(t, v) }) },
		"assert.Len":       func(w io.Writer, v any) { assertion(w, func(t assert.TestingT) { assert.Len(t, v, 99) }) },
		"assert.Same":      func(w io.Writer, v any) { assertion(w, func(t assert.TestingT) { assert.Same(t, &v, v) }) },
		"assert.IsType":    func(w io.Writer, v any) { assertion(w, func(t assert.TestingT) { assert.IsType(t, 1, v) }) },
		"assert.Exactly":   func(w io.Writer, v any) { assertion(w, func(t assert.TestingT) { assert.Exactly(t, 1, v) }) },
		"assert.Contains":  func(w io.Writer, v any) { assertion(w, func(t assert.TestingT) { assert.Contains(t, []any{v}, 1) }) },
		"assert.Elements": func(w io.Writer, v any) {
			assertion(w, func(t assert.TestingT) { assert.ElementsMatch(t, []any{v}, []any{1}) })
		},
		"assert.EqualError": func(w io.Writer, v any) {
			assertion(w, func(t assert.TestingT) { assert.EqualError(t, fmt.Errorf("%v", v), "") })
		},
	}
	for _, f := range formats {
		all["verb "+f] = func(w io.Writer, v any) { fmt.Fprintf(w, f, v) }
	}
	return all
}

// printed is what a printer writes, or panics with: not every printer takes
// every value.
func printed(printer func(io.Writer, any), value any) string {
	var text bytes.Buffer
	func() {
		defer func() {
			if r := recover(); r != nil {
				fmt.Fprint(&text, r)
			}
		}()
		printer(&text, value)
	}()
	return text.String()
}

func record(h slog.Handler, v any) {
	l := slog.New(h)
	l.Info("login", "token", v)
	l.With("token", v).WithGroup("group").Info("login", slog.Group("inner", slog.Any("token", v)), "list", []any{v})
	l.Info(fmt.Sprint(v))
}

func assertion(w io.Writer, f func(assert.TestingT)) {
	var r recorder
	f(&r)
	_, _ = r.WriteTo(w)
}

// zeroLike is another value of v's type, so that a difference is printed.
func zeroLike(v any) any {
	if v == nil {
		return nil
	}
	t := reflect.TypeOf(v)
	if t.Kind() == reflect.Pointer {
		return reflect.New(t.Elem()).Interface()
	}
	return reflect.Zero(t).Interface()
}

type contextKey struct{}

type (
	exportedValue     struct{ Token tokenfile.Token }
	exportedPointer   struct{ Token *tokenfile.Token }
	exportedAny       struct{ Token any }
	unexportedValue   struct{ token tokenfile.Token }
	unexportedPointer struct{ token *tokenfile.Token }
	unexportedAny     struct{ token any }
	embeddedValue     struct{ tokenfile.Token }
	embeddedPointer   struct{ *tokenfile.Token }
	deep              struct{ list []map[string]*unexportedValue }
	generic[T any]    struct{ value T }
)

// holders are a token in all the places where a program keeps one.
func holders(token *tokenfile.Token) map[string]any {
	channel := make(chan *tokenfile.Token, 1)
	channel <- token
	var pointer atomic.Pointer[tokenfile.Token]
	pointer.Store(token)
	return map[string]any{
		"value":                              *token,
		"pointer":                            token,
		"pointer to pointer":                 &token,
		"nil pointer":                        (*tokenfile.Token)(nil),
		"zero value":                         tokenfile.Token{},
		"exported field":                     exportedValue{*token},
		"exported field, pointer":            &exportedPointer{token},
		"exported field, nil pointer":        exportedPointer{},
		"exported field, interface":          exportedAny{*token},
		"unexported field":                   unexportedValue{*token},
		"unexported field by pointer":        &unexportedValue{*token},
		"unexported field, pointer":          unexportedPointer{token},
		"unexported field, interface":        unexportedAny{*token},
		"unexported field, pointer in it":    &unexportedAny{token},
		"embedded":                           embeddedValue{*token},
		"embedded pointer":                   embeddedPointer{token},
		"deep inside":                        deep{[]map[string]*unexportedValue{{"x": {*token}}}},
		"generic field":                      generic[tokenfile.Token]{*token},
		"slice":                              []tokenfile.Token{*token},
		"slice of pointers":                  []*tokenfile.Token{token, nil},
		"slice of interfaces":                []any{token, *token},
		"array":                              [1]tokenfile.Token{*token},
		"map value":                          map[string]tokenfile.Token{"a": *token},
		"map value, pointer":                 map[string]*tokenfile.Token{"a": token},
		"map key":                            map[*tokenfile.Token]int{token: 1},
		"channel":                            channel,
		"element of a channel":               struct{ Last any }{<-channel},
		"atomic pointer":                     &pointer,
		"function":                           func() *tokenfile.Token { return token },
		"method that hands it out":           token.Raw,
		"reflect.Value":                      reflect.ValueOf(*token),
		"reflect.Value of an unexported one": reflect.ValueOf(unexportedValue{*token}).Field(0),
		"audience":                           token.Audience(),
		"Kubernetes":                         token.Kubernetes(),
		"interface of slog":                  slog.AnyValue(token),
		"attribute of slog":                  slog.Any("token", *token),
	}
}

// CVE-2023-2878, CVE-2024-3744, CVE-2025-7445, CVE-2019-11250: service-account
// tokens in logs, by %v of a struct.
func TestTokenIsRedactedHoweverItIsPrinted(t *testing.T) {
	raw := sign(t)
	token := good(t, newSource(mount(t, raw).Path()), raw)
	find := newFinder(raw)
	for where, value := range holders(token) {
		for how, printer := range printers(formats()) {
			text := printed(printer, value)
			if run := find(text); run != "" {
				assert.Failf(t, "secret printed", "%s by %s: %q", where, how, run)
			}
		}
	}
}

// The control: the same printers show a string that is held in the same ways.
func TestPrintersShowWhatIsNotRedacted(t *testing.T) {
	raw := sign(t)
	type plain struct{ secret string }
	find := newFinder(raw)
	for where, value := range map[string]any{
		"string": raw, "unexported field": plain{raw}, "unexported field by pointer": &plain{raw},
		"slice": []string{raw}, "map": map[string]plain{"a": {raw}}, "interface": []any{plain{raw}},
	} {
		for _, how := range []string{
			"print", "println", "log", "slog text", "error %v", "error %+v", "joined", "panic value", "verb %v", "verb %+v", "verb %#v",
			"verb %s", "verb %q", "verb %x", "verb %X", "verb %d", "verb %z", "verb %500.400s", "text template",
			"assert.Equal", "assert.NotEqual", "assert.Nil", "assert.Contains", "assert.Elements", "assert.EqualError",
		} {
			text := printed(printers(common)[how], value)
			if how == "assert.Contains" && where == "unexported field by pointer" {
				continue // prints the address
			}
			assert.NotEmpty(t, find(text), "%s by %s: %s", where, how, text)
		}
	}
	for _, how := range []string{"JSON", "XML", "gob", "slog JSON", "HTML template", "expvar"} {
		assert.NotEmpty(t, find(printed(printers(common)[how], raw)), how)
	}
}

func TestTokenPrintsItsClaims(t *testing.T) {
	raw := sign(t, map[string]any{"exp": int64(4102444800), "aud": []string{audience, "second"}})
	token := good(t, newSource(mount(t, raw).Path()), raw)
	const want = `Token(sub="system:serviceaccount:shop:cart" aud=["openbao", "second"] exp=2100-01-01T00:00:00Z, secret redacted)`
	for _, f := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%t", "%c", "%U", "%e", "%10.2s"} {
		assert.Equal(t, want, fmt.Sprintf(f, token), f)
		assert.Equal(t, want, fmt.Sprintf(f, *token), f)
	}
	assert.Equal(t, want, token.String())
	assert.Equal(t, want, token.GoString())
	assert.Equal(t, want, token.LogValue().String())
	text, err := token.MarshalText()
	require.NoError(t, err)
	assert.Equal(t, want, string(text))
	data, err := json.Marshal(map[string]any{"token": token})
	require.NoError(t, err)
	var decoded map[string]string
	require.NoError(t, json.Unmarshal(data, &decoded))
	assert.Equal(t, want, decoded["token"])
	assert.Equal(t, "[<nil>]", fmt.Sprint([]*tokenfile.Token{nil}))

	zero := tokenfile.Token{}
	assert.Equal(t, `Token(sub="" aud=[] exp=none, secret redacted)`, zero.String())
	assert.Empty(t, zero.Raw())
}

// What a Source keeps of the file is as secret as a Token.
func TestSourceIsRedactedAfterUse(t *testing.T) {
	raw, next := sign(t), sign(t)
	find, findNext := newFinder(raw), newFinder(next)
	for name, maxAge := range map[string]time.Duration{"every call": 0, "schedule": 5 * time.Minute} {
		t.Run(name, func(t *testing.T) {
			vol := mount(t, raw)
			s := newSource(vol.Path())
			s.MaxAge = maxAge
			good(t, s, raw)
			require.NoError(t, vol.Write(next))
			_, err := s.Reload(t.Context())
			require.NoError(t, err)
			require.NoError(t, vol.WriteInPlace([]byte(raw[:50])))
			_, err = s.Reload(t.Context())
			require.Error(t, err)
			type client struct {
				Source *tokenfile.Source
				source *tokenfile.Source
			}
			for where, value := range map[string]any{
				"source": s, "in a client": client{s, s}, "client by pointer": &client{s, s}, "stats": s.Stats(),
				"last error": s.Stats().LastError, "fields": reflect.ValueOf(s).Elem(),
			} {
				for how, printer := range printers(common) {
					text := printed(printer, value)
					run := find(text)
					if run == "" {
						run = findNext(text)
					}
					if run != "" {
						assert.Failf(t, "secret printed", "%s by %s: %q", where, how, run)
					}
				}
			}
		})
	}
}

// golang/go#43631: errors that hold what they complain of.
func TestErrorsAreRedactedHoweverTheyArePrinted(t *testing.T) {
	raw := sign(t)
	find := newFinder(raw)
	failures := failuresOf(t, raw)
	require.GreaterOrEqual(t, len(failures), 12)
	for where, err := range failures {
		values := []any{err, struct{ err error }{err}, []error{err}, fmt.Errorf("login: %w", err), errors.Join(err, io.EOF)}
		for cause := err; cause != nil; cause = errors.Unwrap(cause) {
			values = append(values, cause)
		}
		for _, value := range values {
			for how, printer := range printers(common) {
				text := printed(printer, value)
				if run := find(text); run != "" {
					assert.Failf(t, "secret printed", "%s by %s: %q", where, how, run)
				}
			}
		}
	}
}

const panicVar = "PODTOKEN_TEST_PANIC"

// A process that dies of its token: this binary run again.
func init() {
	how, path, ok := strings.Cut(os.Getenv(panicVar), ":")
	if !ok {
		return
	}
	token, err := (&tokenfile.Source{Path: path, Audience: audience}).Token(context.Background())
	if err != nil {
		fmt.Fprintln(os.Stderr, "no token:", err)
		os.Exit(3)
	}
	panicWith(how, token)
}

func panicWith(how string, token *tokenfile.Token) {
	switch how {
	case "value":
		panic(*token)
	case "pointer":
		panic(token)
	case "wrapped":
		panic(fmt.Errorf("cannot go on with %v", token))
	case "printed":
		panic(fmt.Sprintf("%#v", unexportedValue{*token}))
	case "struct":
		panic(unexportedPointer{token})
	case "again":
		defer func() { panic(recover()) }()
		panic(*token)
	case "control":
		panic(token.Raw())
	}
}

func TestPanicAndTracebackShowNoToken(t *testing.T) {
	raw := sign(t)
	path := mount(t, raw).Path()
	binary, err := os.Executable()
	require.NoError(t, err)
	for _, how := range []string{"value", "pointer", "wrapped", "printed", "struct", "again", "control"} {
		t.Run(how, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), binary)
			cmd.Env = append(os.Environ(), panicVar+"="+how+":"+path, "GOTRACEBACK=all")
			out, err := cmd.CombinedOutput()
			require.Error(t, err)
			require.Contains(t, string(out), "panic: ")
			require.Contains(t, string(out), "panicWith")
			if how == "control" {
				assert.NotEmpty(t, leak(string(out), raw))
				return
			}
			noSecret(t, string(out), raw)
		})
	}
}

// The kit's Kubelet and our Source log side by side in tests; neither logs a
// token.
func TestLogsOfALifeShowNoToken(t *testing.T) {
	iss := newIssuer(t)
	vol := newVolume(t)
	var out journal
	k := &tokenfiletest.Kubelet{Issuer: iss, Volume: vol, Logger: out.logger(), Request: tokenfiletest.Request{Audiences: []string{audience}}}
	s := newSource(vol.Path())
	s.Logger = out.logger()
	var secrets []string
	for range 3 {
		require.NoError(t, k.Rotate())
		token, err := s.Token(t.Context())
		require.NoError(t, err)
		secrets = append(secrets, token.Raw())
		require.NoError(t, vol.WriteInPlace([]byte(token.Raw()[:100])))
		_, err = s.Token(t.Context())
		require.Error(t, err)
	}
	assert.Contains(t, out.written(), "token rotated")
	assert.Contains(t, out.written(), "no valid token")
	assert.Contains(t, out.written(), "token file is good again")
	noSecret(t, out.written(), secrets...)
}

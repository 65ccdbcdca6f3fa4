package tokenfiletest_test

import (
	"context"
	"fmt"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/podtoken/podtoken/tokenfile"
	"github.com/podtoken/podtoken/tokenfile/tokenfiletest"
)

// A program that reads its token once logs in until the token expires. One
// that asks a tokenfile.Source at each login outlives any number of
// rotations. Here both live through two rotations of a one-hour token, and a
// relying party that accepts the audience "openbao" judges their logins.
func Example_soak() {
	// A test passes its own t; an Example has none.
	synctest.Test(new(testing.T), func(t *testing.T) {
		dir, _ := os.MkdirTemp("", "tokens")
		defer os.RemoveAll(dir)
		issuer, err := tokenfiletest.NewIssuer("")
		if err != nil {
			fmt.Println(err)
			return
		}
		volume, err := tokenfiletest.NewVolume(dir)
		if err != nil {
			fmt.Println(err)
			return
		}
		kubelet := &tokenfiletest.Kubelet{
			Issuer:  issuer,
			Volume:  volume,
			Request: tokenfiletest.Request{Audiences: []string{"openbao"}, Pod: "web-0"},
		}
		if err := kubelet.Rotate(); err != nil { // mounts the first token
			fmt.Println(err)
			return
		}
		go kubelet.Run(t.Context())

		once, _ := os.ReadFile(volume.Path()) // the mistake
		source := &tokenfile.Source{Path: volume.Path(), Audience: "openbao"}
		var logins, refusedOnce, refusedSource int
		for kubelet.Rotations() < 2 {
			time.Sleep(time.Minute) // takes no time here
			logins++
			if _, err := issuer.Verify(string(once), "openbao"); err != nil {
				refusedOnce++
			}
			token, err := source.Token(context.Background())
			if err != nil {
				refusedSource++
				continue
			}
			if _, err := issuer.Verify(token.Raw(), "openbao"); err != nil {
				refusedSource++
			}
		}
		fmt.Println("more than 90 logins:", logins > 90)
		fmt.Println("more than 30 of the token read once refused:", refusedOnce > 30)
		fmt.Println("of the Source's refused:", refusedSource)
	})
	// Output:
	// more than 90 logins: true
	// more than 30 of the token read once refused: true
	// of the Source's refused: 0
}

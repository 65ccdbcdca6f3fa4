package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/podtoken/podtoken/cmd/podtoken/party"
	"github.com/podtoken/podtoken/cmd/podtoken/soak"
)

type soakCommand struct {
	VaultRole      string `group:"The relying party, one of:" placeholder:"ROLE" help:"Log in to OpenBao or Vault as this role, with BAO_ADDR or VAULT_ADDR and the other variables of its client. Each token that it gives is revoked."`
	VaultMount     string `group:"The relying party, one of:" placeholder:"PATH" default:"kubernetes" help:"Path of the auth method, without auth/ (${default})."`
	VaultNamespace string `group:"The relying party, one of:" placeholder:"NAME" help:"Namespace of the auth method."`
	AWS            string `group:"The relying party, one of:" name:"aws" placeholder:"MECHANISM" enum:",any,pod-identity,irsa" default:"" help:"Retrieve AWS credentials: pod-identity, irsa, or any of them that was injected."`
	URL            string `group:"The relying party, one of:" name:"url" placeholder:"URL" help:"GET this URL with the token as a bearer: 2xx is a login, 401 and 403 are rejections. It is also asked once without the token, which it must not accept. https only, but on loopback."`

	Token             string        `group:"The token:" placeholder:"FILE" help:"The token file. Without it, the one that is mounted here for the audience. For AWS, the injected variables name it."`
	Audience          string        `group:"The token:" placeholder:"NAME" help:"Who the token must be for; needed but for AWS."`
	ExpirationSeconds int           `group:"The token:" placeholder:"N" help:"The lifetime that the pod's spec declares. Without it, the API server is asked for the spec."`
	Cluster           bool          `group:"The token:" negatable:"" default:"true" help:"Ask the API server for this pod's spec and for Secrets that hold a token, as far as the pod's service account may."`
	Rotations         int           `group:"How long, whichever comes first:" placeholder:"N" help:"Until so many rotations; at least two, which is also what is done without --for."`
	For               time.Duration `group:"How long, whichever comes first:" placeholder:"TIME" help:"For so long, such as 3h or 720h."`
	Every             time.Duration `placeholder:"TIME" help:"Begin a login so often. Without it, 360 times in the token's life, at least 10s apart."`
	Timeout           time.Duration `placeholder:"TIME" default:"30s" help:"Let a login take so long (${default})."`
	SVG               string        `name:"svg" placeholder:"FILE" help:"Write a timeline there at the end."`
	Output            string        `short:"o" enum:"text,json" default:"text" help:"${enum}."`
}

// Help is for kong.
func (*soakCommand) Help() string {
	return `In a pod, for its role at OpenBao or Vault, or for a service that takes the token as a bearer:

    podtoken soak --vault-role web --audience openbao --svg soak.svg

    podtoken soak --url https://payments.example/whoami --audience payments

It ends with a verdict, point by point, after two rotations unless told otherwise: 18 minutes for a token of ten
minutes, an hour and two thirds for one of an hour. Ctrl-C gives the verdict so far; a second one kills.
Progress goes to standard error, the verdict to standard output.

Exit status: 0 if every point that can be seen from here held, 1 if one failed or was not shown yet, 2 if the
soak could not begin or its verdict could not be written.`
}

func (c *soakCommand) run(sys system) int {
	if err := c.soak(sys); err != nil {
		if errors.Is(err, errFindings) {
			return exitFindings
		}
		fmt.Fprintln(sys.stderr, "podtoken soak:", err)
		return exitUnreadable
	}
	return exitGood
}

// errFindings says that the verdict is there, and is not a good one.
var errFindings = errors.New("not passed")

func (c *soakCommand) soak(sys system) error {
	ctx, stop := interruptOf(sys)
	defer stop()
	s, err := c.prepare(ctx, sys)
	if err != nil {
		return err
	}
	if err := writable(c.SVG); err != nil {
		return err
	}
	view := newSoakView(sys)
	s.OnEvent, s.OnStatus = view.event, view.status()
	verdict, err := s.Run(ctx)
	view.clear()
	if err != nil {
		return err
	}
	return c.tell(sys, verdict)
}

// interruptOf is sys's, but lets a second interrupt kill.
func interruptOf(sys system) (context.Context, context.CancelFunc) {
	if sys.interrupt == nil {
		return context.WithCancel(context.Background())
	}
	ctx, stop := sys.interrupt()
	context.AfterFunc(ctx, stop)
	return ctx, stop
}

// tell draws the verdict, and prints it.
func (c *soakCommand) tell(sys system, verdict soak.Verdict) error {
	var err error
	if c.SVG != "" { // first: a reader of the text that has gone away kills
		err = replaceFile(c.SVG, verdict.SVG())
	}
	err = errors.Join(err, c.print(sys, verdict))
	if err == nil && !verdict.Passed {
		return errFindings
	}
	return err
}

// print shows the verdict, which took hours, on standard error if there is no
// other way.
func (c *soakCommand) print(sys system, verdict soak.Verdict) error {
	var err error
	if c.Output == "json" {
		err = writeJSON(sys.stdout, verdict)
	} else {
		_, err = fmt.Fprint(sys.stdout, verdict.Text((&person{colours: sys.colours}).state))
	}
	if err != nil {
		fmt.Fprint(sys.stderr, verdict)
	}
	return err
}

// state colours the word for one.
func (p *person) state(state soak.State, text string) string {
	return p.colour(map[soak.State]string{soak.Held: green, soak.Failed: red, soak.NotYet: yellow, soak.NotSeen: cyan}[state], text)
}

// party is the one that the flags name.
func (c *soakCommand) party(token string) (party.Party, error) {
	switch {
	case c.URL != "":
		return party.HTTP(party.HTTPOptions{URL: c.URL, Path: token, Audience: c.Audience})
	case c.AWS != "":
		return party.AWS(c.awsOptions)
	}
	return party.Vault(party.VaultOptions{
		Role: c.VaultRole, Mount: c.VaultMount, Namespace: c.VaultNamespace, Path: token, Audience: c.Audience,
	})
}

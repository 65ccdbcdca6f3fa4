package main

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/podtoken/podtoken/cmd/podtoken/container"
	"github.com/podtoken/podtoken/cmd/podtoken/doctor"
	"github.com/podtoken/podtoken/cmd/podtoken/party"
)

// doctorLogins are the relying parties that the doctor asks.
type doctorLogins struct {
	Probe          bool          `help:"Get AWS credentials for real."`
	Vault          bool          `help:"Log in to the OpenBao or Vault of BAO_ADDR or VAULT_ADDR, as the mount's default role."`
	VaultRole      string        `placeholder:"ROLE" help:"Log in to the OpenBao or Vault of BAO_ADDR or VAULT_ADDR as this role. The token that it gives is revoked."`
	VaultMount     string        `placeholder:"PATH" help:"Where the auth method is mounted; kubernetes, if not given."`
	VaultNamespace string        `placeholder:"NAME" help:"The namespace to log in to."`
	URL            string        `name:"url" placeholder:"URL" help:"GET this URL with the token as the bearer: 2xx is good."`
	Token          string        `placeholder:"FILE" help:"The token file for these logins; if not given, the one token that has --audience, or that is not the API server's."`
	Audience       string        `placeholder:"AUDIENCE" help:"Whom that token must be for."`
	Timeout        time.Duration `default:"30s" placeholder:"DURATION" help:"For all logins together."`
}

func (l *doctorLogins) toVault() bool { return l.Vault || l.VaultRole != "" }

func (l *doctorLogins) any() bool { return l.Probe || l.toVault() || l.URL != "" }

func (l *doctorLogins) conflict() error {
	switch {
	case !l.toVault() && (l.VaultMount != "" || l.VaultNamespace != ""):
		return errors.New("--vault-mount and --vault-namespace need --vault-role, or --vault for the default role")
	case !l.toVault() && l.URL == "" && (l.Token != "" || l.Audience != ""):
		return errors.New("--token and --audience are for a login: name --vault-role or --url (without a login, --expect looks for an audience)")
	}
	return nil
}

// addParties makes the relying parties of the flags.
func (l *doctorLogins) addParties(o *doctor.Options) error {
	o.Unreachable = party.Unreachable
	if l.Probe {
		environment, err := container.Environment(o.Root)
		if err != nil {
			return err
		}
		if aws, err := party.AWS(doctor.AWSOptions(o.Root, environment)); err == nil {
			o.Parties = append(o.Parties, aws)
		} else {
			o.ExpectAWS = true // which says why
		}
	}
	if !l.toVault() && l.URL == "" {
		return nil
	}
	path, err := l.path(*o)
	if err != nil {
		return err
	}
	return l.addLogins(o, container.Resolve(o.Root, path))
}

func (l *doctorLogins) addLogins(o *doctor.Options, path string) error {
	if l.toVault() {
		vault, err := party.Vault(party.VaultOptions{
			Role: l.VaultRole, Mount: l.VaultMount, Namespace: l.VaultNamespace, Path: path, Audience: l.Audience,
		})
		if err != nil {
			return err
		}
		o.Parties = append(o.Parties, vault)
	}
	if l.URL != "" {
		service, err := party.HTTP(party.HTTPOptions{URL: l.URL, Path: path, Audience: l.Audience})
		if err != nil {
			return err
		}
		o.Parties = append(o.Parties, service)
	}
	return nil
}

// path is that of the token to log in with: named, or the only one that fits.
func (l *doctorLogins) path(o doctor.Options) (string, error) {
	if l.Token != "" {
		return l.Token, nil
	}
	o.Parties = nil
	fit := doctor.Fitting(o, l.Audience)
	switch len(fit) {
	case 1:
		return fit[0], nil
	case 0:
		return "", errors.New("no token fits this login: name the file with --token (without any login, doctor says which tokens are there)")
	}
	return "", fmt.Errorf("%d tokens fit this login: name one with --token, or its --audience: %s",
		len(fit), strings.Join(doctor.Listed(fit), ", "))
}

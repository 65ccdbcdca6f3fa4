package main

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// pair is a text of vaultauth, and what stands for it in baoauth.
type pair struct{ vault, bao string }

// exchange puts each text of its pairs in place of the other one, in both
// directions: where vaultauth says that OpenBao's client has baoauth, baoauth
// says that Vault's has vaultauth. All is done in one pass, and the longest
// text counts where several begin, so the order of the pairs is of no matter.
type exchange struct {
	pairs   []pair
	pattern *regexp.Regexp
	other   map[string]string
	met     map[string]bool
}

func newExchange(pairs []pair) (*exchange, error) {
	e := &exchange{pairs: pairs, other: make(map[string]string), met: make(map[string]bool)}
	var texts []string
	add := func(text, other string) error {
		if text == "" {
			return fmt.Errorf("the table has no text to put in place of %q, or to be replaced by it", other)
		}
		if _, twice := e.other[text]; twice {
			return fmt.Errorf("the table has %q more than once", text)
		}
		e.other[text] = other
		texts = append(texts, regexp.QuoteMeta(text))
		return nil
	}
	for _, p := range pairs {
		if err := errors.Join(add(p.vault, p.bao), add(p.bao, p.vault)); err != nil {
			return nil, err
		}
	}
	pattern, err := regexp.Compile(strings.Join(texts, "|"))
	if err != nil {
		return nil, err
	}
	pattern.Longest()
	e.pattern = pattern
	return e, nil
}

// in returns text with the pairs exchanged.
func (e *exchange) in(text []byte) []byte {
	return e.pattern.ReplaceAllFunc(text, func(found []byte) []byte {
		e.met[string(found)] = true
		return []byte(e.other[string(found)])
	})
}

// unmet is an error if a pair was of no use, so that the table stays true.
func (e *exchange) unmet() error {
	var errs []error
	for _, p := range e.pairs {
		if !e.met[p.vault] {
			errs = append(errs, fmt.Errorf("%q is nowhere in %s any more: change the table or take it out", p.vault, source))
		}
	}
	return errors.Join(errs...)
}

package doctor

import (
	"context"
	"slices"
	"strings"
)

// Fitting returns the paths of the tokens with which one could log in to a
// relying party: those with its audience, or, if that is empty, those that are
// neither the API server's nor AWS's. Nothing is sent.
func Fitting(o Options, audience string) []string {
	o.Parties = nil
	var fit []string
	for _, t := range Examine(context.Background(), o).Tokens {
		switch {
		case audience != "" && slices.Contains(t.Audience, audience),
			audience == "" && !t.Default && !strings.HasPrefix(t.Variable, "AWS_") && t.Readable:
			fit = append(fit, t.File())
		}
	}
	return fit
}

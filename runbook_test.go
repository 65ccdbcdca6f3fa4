package podtoken_test

import (
	"go/ast"
	"go/token"
	"path"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const runbook = "docs/runbook.md"

// An address that an error ends with is opened at three in the morning, and
// must not lead to the top of a long page.
func TestRunbookHasEachSectionThatIsNamed(t *testing.T) {
	sections := headings(t, read(t, runbook))
	for anchor, by := range namedAnchors(t) {
		assert.Contains(t, sections, anchor, "named by %s", by)
	}
}

// A section that nothing leads to is found by nobody, or is of an error that
// there is no more.
func TestEachSectionOfTheRunbookIsNamed(t *testing.T) {
	text := read(t, runbook)
	named := namedAnchors(t)
	for _, link := range linkPattern.FindAllStringSubmatch(text, -1) {
		named[link[1]] = runbook
	}
	for anchor, level := range headings(t, text) {
		if level > 2 { // a chapter needs no link
			assert.Contains(t, named, anchor, "named by no source, and linked from nowhere in the runbook")
		}
	}
}

func TestLinksOfTheRunbookLeadSomewhere(t *testing.T) {
	text := read(t, runbook)
	sections := headings(t, text)
	links := linkPattern.FindAllStringSubmatch(text, -1)
	require.NotEmpty(t, links)
	for _, link := range links {
		assert.Contains(t, sections, link[1])
	}
	known := files(t)
	for _, link := range regexp.MustCompile(`\]\((\.\./[^)#]+)\)`).FindAllStringSubmatch(text, -1) {
		target := path.Join(path.Dir(runbook), link[1])
		assert.True(t, anyHasPrefix(known, target), "%s is not in the repository", target)
	}
}

// The first lines of a section are what to do.
func TestEachSectionOfTheRunbookBeginsWithTheMend(t *testing.T) {
	_, text, _ := strings.Cut(read(t, runbook), "\n## The three incidents\n")
	parts := strings.Split(text, "\n### ")[1:]
	require.Greater(t, len(parts), 50)
	for _, part := range parts {
		title, body, _ := strings.Cut(part, "\n")
		assert.True(t, strings.HasPrefix(strings.TrimSpace(body), "**Now:** "), "%s does not begin with what to do now", title)
		assert.Contains(t, body, "**Mended when** ", title)
	}
}

func TestSlugsAreGitHubs(t *testing.T) {
	for heading, want := range map[string]string{
		"Token expired":                        "token-expired",
		"AWS, STS (IRSA)":                      "aws-sts-irsa",
		"`permission denied`: what now?":       "permission-denied-what-now",
		"Pod stuck in ContainerCreating":       "pod-stuck-in-containercreating",
		"a_b - c":                              "a_b---c",
		"Überlauf":                             "überlauf",
		"  Spaces around are not of the title": "spaces-around-are-not-of-the-title",
	} {
		assert.Equal(t, want, slug(heading))
	}
	assert.Equal(t, map[string]int{"a": 2, "a-1": 3}, headings(t, "## A\n```sh\n# no heading\n```\n### A\n"))
}

var (
	linkPattern    = regexp.MustCompile(`\]\(#([^)]+)\)`)
	addressPattern = regexp.MustCompile(`docs/runbook\.md#([A-Za-z0-9_-]+)`)
	anchorPattern  = regexp.MustCompile(`^[a-z]+(-[a-z]+)+$`)
)

// namedAnchors returns the sections that errors, log records and alerts name,
// each with a file that does: whole addresses anywhere, the field "section" of a
// literal, and in a runbook.go, which has the anchors of its package, each
// string that looks like one.
func namedAnchors(t *testing.T) map[string]string {
	t.Helper()
	named := make(map[string]string)
	for _, name := range files(t) {
		if strings.HasSuffix(name, "_test.go") || name == runbook {
			continue
		}
		if strings.HasSuffix(name, ".go") || strings.HasPrefix(name, "deploy/") || path.Base(name) == "README.md" {
			for _, address := range addressPattern.FindAllStringSubmatch(read(t, name), -1) {
				named[address[1]] = name
			}
		}
	}
	packages := make(map[string]bool)
	for _, f := range goFiles(t) {
		if f.test {
			continue
		}
		inRunbook := path.Base(f.name) == "runbook.go"
		if inRunbook {
			packages[path.Dir(f.name)] = true
		}
		ast.Inspect(f.syntax, func(n ast.Node) bool {
			if pair, ok := n.(*ast.KeyValueExpr); ok && isName(pair.Key, "section") {
				note(named, pair.Value, f.name)
			} else if literal, ok := n.(*ast.BasicLit); ok && inRunbook {
				note(named, literal, f.name)
			}
			return true
		})
	}
	for _, dir := range []string{"tokenfile", "awspodid", "vaultauth", "baoauth"} {
		require.Contains(t, packages, dir, "has errors, and no runbook.go")
	}
	return named
}

// note adds what a string literal names, if it looks like an anchor.
func note(named map[string]string, value ast.Expr, by string) {
	literal, ok := value.(*ast.BasicLit)
	if !ok || literal.Kind != token.STRING {
		return
	}
	if text, _ := strconv.Unquote(literal.Value); anchorPattern.MatchString(text) {
		named[text] = by
	}
}

func isName(e ast.Expr, name string) bool {
	ident, ok := e.(*ast.Ident)
	return ok && ident.Name == name
}

// headings returns the anchors of a page and their levels, as GitHub makes
// them: the second of the same title gets a number.
func headings(t *testing.T, text string) map[string]int {
	t.Helper()
	anchors := make(map[string]int)
	seen := make(map[string]int)
	code := false
	for line := range strings.Lines(text) {
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			code = !code
		}
		title := strings.TrimLeft(line, "#")
		level := len(line) - len(title)
		if code || level == 0 || !strings.HasPrefix(title, " ") {
			continue
		}
		anchor := slug(title)
		if n := seen[anchor]; n > 0 {
			anchor += "-" + strconv.Itoa(n)
		}
		seen[slug(title)]++
		anchors[anchor] = level
	}
	require.NotEmpty(t, anchors)
	return anchors
}

// slug is GitHub's anchor of a title: small letters, digits, hyphens and
// underscores stay, spaces become hyphens, and the rest goes.
func slug(title string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-', r == '_', unicode.IsLetter(r), unicode.IsDigit(r):
			return unicode.ToLower(r)
		}
		return -1
	}, strings.TrimSpace(title))
}

func anyHasPrefix(names []string, prefix string) bool {
	for _, name := range names {
		if name == prefix || strings.HasPrefix(name, strings.TrimSuffix(prefix, "/")+"/") {
			return true
		}
	}
	return false
}

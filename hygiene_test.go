package podtoken_test

import (
	"encoding/json"
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const rootModule = "github.com/podtoken/podtoken"

// A second package comment is shown by some tools and hidden by others, and
// none leaves the reader of pkg.go.dev without a start.
func TestEachPackageHasOnePackageComment(t *testing.T) {
	comments := make(map[string]int)
	for _, f := range goFiles(t) {
		if f.test {
			continue
		}
		comments[path.Dir(f.name)] += 0
		if f.syntax.Doc.Text() != "" {
			comments[path.Dir(f.name)]++
		}
	}
	require.NotEmpty(t, comments)
	for dir, n := range comments {
		assert.Equal(t, 1, n, "package comments in %s", dir)
	}
}

// Every name that a user imports says what it is for, but for the two methods
// that package errors documents for all errors.
func TestEachExportedNameHasADocComment(t *testing.T) {
	packages := make(map[string][]*ast.File)
	for _, f := range goFiles(t) {
		if !f.test && !f.internal() && f.module != "examples" {
			packages[path.Dir(f.name)] = append(packages[path.Dir(f.name)], f.syntax)
		}
	}
	require.Contains(t, packages, "tokenfile")
	require.Contains(t, packages, "tokenfile/tokenfiletest")
	for dir, files := range packages {
		p, err := doc.NewFromFiles(fileSet, files, path.Join(rootModule, dir))
		require.NoError(t, err)
		documented := func(comment, name string) {
			if ast.IsExported(name) {
				assert.NotEmpty(t, comment, "comment on %s.%s", p.Name, name)
			}
		}
		functions := func(list []*doc.Func) {
			for _, f := range list {
				if f.Recv == "" || f.Name != "Error" && f.Name != "Unwrap" {
					documented(f.Doc, f.Name)
				}
			}
		}
		values := func(list []*doc.Value) {
			for _, v := range list {
				for _, spec := range v.Decl.Specs {
					value := spec.(*ast.ValueSpec)
					for _, name := range value.Names {
						documented(v.Doc+value.Doc.Text()+value.Comment.Text(), name.Name)
					}
				}
			}
		}
		functions(p.Funcs)
		values(p.Consts)
		values(p.Vars)
		for _, typ := range p.Types {
			documented(typ.Doc, typ.Name)
			functions(typ.Funcs)
			functions(typ.Methods)
			values(typ.Consts)
			values(typ.Vars)
		}
	}
}

// An Example without an Output comment is compiled and never run, so nothing
// tells when it stops being true.
func TestEachExampleIsRun(t *testing.T) {
	for _, f := range goFiles(t) {
		if !f.test {
			continue
		}
		for _, example := range doc.Examples(f.syntax) {
			assert.True(t, example.Output != "" || example.EmptyOutput,
				"%s: Example%s has no Output comment", f.name, example.Name)
		}
	}
}

// Whoever imports tokenfile gets the versions that the root module asks for,
// so it asks for little: CONTRIBUTING.md says what each is for.
func TestRootModuleIsLight(t *testing.T) {
	const (
		fsnotify = "github.com/fsnotify/fsnotify"
		jwt      = "github.com/golang-jwt/jwt/v5"
		sys      = "golang.org/x/sys"
		testify  = "github.com/stretchr/testify"
	)
	assert.ElementsMatch(t, []string{fsnotify, jwt, sys, testify}, modules(t)["."].direct())

	for _, f := range goFiles(t) {
		if f.module != "." || f.test {
			continue
		}
		for _, imported := range f.imports() {
			standard := !strings.Contains(strings.Split(imported, "/")[0], ".")
			ours := strings.HasPrefix(imported, rootModule+"/")
			light := slices.ContainsFunc([]string{fsnotify, jwt, sys}, func(module string) bool {
				return imported == module || strings.HasPrefix(imported, module+"/")
			})
			assert.True(t, standard || ours || light, "%s imports %s", f.name, imported)
		}
	}
}

// A program that only reads a file should not link an HTTP stack for it, and
// package testing adds flags to the program that links it.
func TestTokenfileLinksNoHTTP(t *testing.T) {
	for _, system := range []string{"linux", "darwin", "windows", "freebsd"} {
		var listed struct{ Deps []string }
		goJSON(t, &listed, []string{"GOOS=" + system}, "list", "-json=Deps", "./tokenfile")
		require.Contains(t, listed.Deps, "os")
		for _, heavy := range []string{"net/http", "testing"} {
			assert.False(t, slices.Contains(listed.Deps, heavy), "%s is linked on %s", heavy, system)
		}
	}
}

// The file is data from outside. Code that parses it has the compiler's whole
// protection.
func TestTokenfileIsSafe(t *testing.T) {
	for _, f := range goFiles(t) {
		if strings.HasPrefix(f.name, "tokenfile/") {
			assert.NotContains(t, f.imports(), "unsafe", f.name)
		}
	}
}

// What is internal changes without notice. Another module of this project has
// its own releases, and would break with it.
func TestPublishedPackagesImportNothingInternal(t *testing.T) {
	for _, f := range goFiles(t) {
		if f.internal() {
			continue
		}
		for _, imported := range f.imports() {
			assert.False(t, strings.HasPrefix(imported, rootModule+"/internal/"), "%s imports %s", f.name, imported)
		}
	}
}

// The go command finds a nested module by its folder, and by nothing else.
func TestModulePathsFollowTheFolders(t *testing.T) {
	for dir, module := range modules(t) {
		assert.Equal(t, path.Join(rootModule, dir), module.Module.Path, "%s/go.mod", dir)
	}
}

// A consumer's build ignores replace directives, so a published module that
// needs one works here and nowhere else. The one that is harmless leads to this
// project's own modules by their folder: released, they have a version.
func TestPublishedModulesReplaceOnlyTheirSiblings(t *testing.T) {
	assert.Empty(t, modules(t)["."].Replace)
	for dir, module := range modules(t) {
		if isInternal(dir) {
			continue
		}
		for _, replace := range module.Replace {
			sibling := replace.Old.Path == rootModule || strings.HasPrefix(replace.Old.Path, rootModule+"/")
			folder := replace.New.Version == "" &&
				path.Join(rootModule, dir, replace.New.Path) == replace.Old.Path
			assert.True(t, sibling && folder, "%s/go.mod replaces %s by %s", dir, replace.Old.Path, replace.New.Path)
		}
	}
}

// A module that is missing in go.work is missing in "go test work" too. The
// end-to-end modules have their own runs: a workspace resolves one set of
// versions for all of its modules, and theirs are huge.
func TestWorkspaceHasEveryModule(t *testing.T) {
	var workspace struct{ Use []struct{ DiskPath string } }
	goJSON(t, &workspace, nil, "work", "edit", "-json", "go.work")
	var got, want []string
	for _, use := range workspace.Use {
		got = append(got, path.Clean(use.DiskPath))
	}
	for dir := range modules(t) {
		if !strings.HasPrefix(dir, "internal/e2e/") {
			want = append(want, dir)
		}
	}
	assert.ElementsMatch(t, want, got)
}

// A dependency is somebody else's code in our users' programs, or in our
// tests' word for it.
func TestEachDirectDependencyHasItsReason(t *testing.T) {
	contributing := read(t, "CONTRIBUTING.md")
	for dir, module := range modules(t) {
		for _, required := range module.direct() {
			if required == rootModule || strings.HasPrefix(required, rootModule+"/") {
				continue
			}
			assert.True(t, strings.Contains(contributing, "`"+required+"`"),
				"CONTRIBUTING.md does not say what %s needs %s for", dir, required)
		}
	}
}

// The modules are released one by one, so each has its own part of the log.
func TestChangelogHasEachModule(t *testing.T) {
	changelog := read(t, "CHANGELOG.md")
	for dir := range modules(t) {
		name := strings.Replace(dir, ".", "podtoken", 1)
		assert.True(t, strings.Contains(changelog, "\n### "+name+"\n"), "CHANGELOG.md has no part on %s", name)
	}
}

// A path of one machine helps nobody on another, and says whose it was.
func TestNoFileNamesAMachinePath(t *testing.T) {
	for _, name := range files(t) {
		text := read(t, name)
		for _, top := range []string{"work", "root", "home"} {
			assert.False(t, strings.Contains(text, "/"+top+"/"), "%s names a path under /%s", name, top)
		}
	}
}

// files returns the repository's files, those not yet committed included, by
// their slash-separated names. Without the repository, as in a consumer's
// module cache, there is nothing to check.
func files(t *testing.T) []string {
	t.Helper()
	if _, err := os.Stat(".git"); err != nil {
		t.Skip("not in a clone of the repository: ", err)
	}
	listed, err := exec.Command("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard").Output()
	require.NoError(t, err)
	names := strings.FieldsFunc(string(listed), func(r rune) bool { return r == 0 })
	names = slices.DeleteFunc(names, func(name string) bool {
		_, err := os.Lstat(name) // deleted, and not yet so in the index
		return err != nil
	})
	require.Contains(t, names, "go.mod")
	return names
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.FromSlash(name))
	require.NoError(t, err)
	return string(text)
}

// goFile is a file of Go source anywhere in the repository, for whatever system.
type goFile struct {
	name   string
	module string // its folder
	test   bool
	syntax *ast.File
}

var fileSet = token.NewFileSet()

func goFiles(t *testing.T) []goFile {
	t.Helper()
	var parsed []goFile
	dirs := modules(t)
	for _, name := range files(t) {
		if !strings.HasSuffix(name, ".go") || slices.Contains(strings.Split(name, "/"), "testdata") {
			continue
		}
		syntax, err := parser.ParseFile(fileSet, filepath.FromSlash(name), nil, parser.ParseComments)
		require.NoError(t, err)
		module := path.Dir(name)
		for dirs[module] == nil {
			module = path.Dir(module)
		}
		parsed = append(parsed, goFile{name, module, strings.HasSuffix(name, "_test.go"), syntax})
	}
	return parsed
}

func (f goFile) internal() bool { return isInternal(f.name) }

func isInternal(name string) bool { return slices.Contains(strings.Split(name, "/"), "internal") }

func (f goFile) imports() []string {
	var paths []string
	for _, spec := range f.syntax.Imports {
		imported, _ := strconv.Unquote(spec.Path.Value) // the parser saw that it is quoted
		paths = append(paths, imported)
	}
	return paths
}

// goMod is a go.mod file, as "go mod edit -json" writes it.
type goMod struct {
	Module  struct{ Path string }
	Require []struct {
		Path     string
		Indirect bool
	}
	Replace []struct {
		Old, New struct{ Path, Version string }
	}
}

// modules returns the repository's modules by folder. The root's is ".".
func modules(t *testing.T) map[string]*goMod {
	t.Helper()
	found := make(map[string]*goMod)
	for _, name := range files(t) {
		if path.Base(name) == "go.mod" {
			module := new(goMod)
			goJSON(t, module, nil, "mod", "edit", "-json", filepath.FromSlash(name))
			found[path.Dir(name)] = module
		}
	}
	return found
}

func (m *goMod) direct() []string {
	var paths []string
	for _, require := range m.Require {
		if !require.Indirect {
			paths = append(paths, require.Path)
		}
	}
	return paths
}

// goJSON runs the go command outside of the workspace, which another Go than
// the developer's may refuse, and decodes what it prints.
func goJSON(t *testing.T, into any, env []string, args ...string) {
	t.Helper()
	cmd := exec.Command("go", args...)
	cmd.Env = append(append(os.Environ(), "GOWORK=off"), env...)
	cmd.Stderr = os.Stderr
	printed, err := cmd.Output()
	require.NoError(t, err, cmd)
	require.NoError(t, json.Unmarshal(printed, into))
}

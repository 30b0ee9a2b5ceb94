package sdk_test

import (
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// apiFile lists what authors of plugins may use: each exported name with its type.
// Additions are taken over with UPDATE=1; a line that is gone or changed breaks the
// plugins of others, and is not.
const apiFile = "api.txt"

func TestIssue15_APIOnlyGrows(t *testing.T) {
	t.Parallel()
	var now []string
	for _, p := range apiPackages(t) {
		now = append(now, exportedAPI(p)...)
	}
	committed, err := os.ReadFile(apiFile)
	if err != nil {
		t.Fatal(err)
	}
	gone, added := apiChanges(strings.Split(strings.TrimSpace(string(committed)), "\n"), now)
	if len(gone) > 0 {
		t.Fatalf("plugins of others use this, and it is gone or changed:\n%s\nin its place:\n%s", strings.Join(gone, "\n"), strings.Join(added, "\n"))
	}
	if len(added) == 0 {
		return
	}
	if os.Getenv("UPDATE") == "" {
		t.Fatalf("%s lacks what the SDK has now; take it over with UPDATE=1 go -C sdk test -run APIOnlyGrows .:\n%s", apiFile, strings.Join(added, "\n"))
	}
	if err := os.WriteFile(apiFile, []byte(strings.Join(now, "\n")+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestIssue15_APIShowsNoGeneratedType(t *testing.T) {
	t.Parallel()
	for _, p := range apiPackages(t) {
		for _, leak := range generatedTypes(p) {
			t.Error(leak)
		}
	}
}

// Each way in which a generated type can get into the API is found; a guard that
// finds nothing would pass too.
func TestGeneratedTypesAreFound(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ source, want string }{
		"a parameter":                     {"func F(p.Token) {}", "p.F"},
		"a result in a list":              {"func F() []*p.Token { return nil }", "p.F"},
		"a field":                         {"type T struct { A map[string]p.Token }", "p.T.A"},
		"a method":                        {"type T struct{}\nfunc (T) M(chan p.Token) {}", "p.T.M"},
		"an embedded type":                {"type T struct { p.Server }", "p.T.Server"},
		"what an own type has":            {"type T struct { *own }\ntype own struct { p.Server }", "p.T.Serve"},
		"a function type":                 {"type Option func(*p.Token)", "p.Option"},
		"an interface":                    {"type I interface { M() p.Token }", "p.I.M"},
		"an alias":                        {"type A = p.Token", "p.A"},
		"an argument of a type":           {"type G[T any] struct{ V T }\nfunc F() G[p.Token] { panic(0) }", "p.F"},
		"a variable":                      {"var V p.Token", "p.V"},
		"an own type that nobody names":   {"type own struct { A p.Token }\nfunc F() *own { return nil }", "p.F"},
		"a constant of it":                {"const C = p.Zero", "p.C"},
		"nothing: a field of its own":     {"type T struct { a p.Token }", ""},
		"nothing: an option of its own":   {"type Option func(*own)\ntype own struct { a p.Token }", ""},
		"nothing: a method of its own":    {"type T struct{}\nfunc (T) m(p.Token) {}", ""},
		"nothing: a type that is not one": {"type Token struct{}\nfunc F(Token) {}", ""},
	} {
		t.Run(name, func(t *testing.T) {
			found := generatedTypes(sourcePackage(t, c.source))
			if c.want == "" && len(found) > 0 || c.want != "" && !slices.ContainsFunc(found, func(l string) bool { return strings.HasPrefix(l, c.want+" ") }) {
				t.Errorf("want %q, found %q", c.want, found)
			}
		})
	}
}

func TestAPIChangesAreFound(t *testing.T) {
	t.Parallel()
	const before = "type T struct { A int; b string }\nfunc (T) M(a, b int) error { return nil }\nconst C = 1\nfunc F(opts ...func(x T)) {}\ntype I interface { N() }"
	was := exportedAPI(sourcePackage(t, before))
	want := []string{
		"p: const C untyped int = 1", "p: func F(...func(p.T))", "p: type I interface{N}", "p: method (I) N()",
		"p: type T struct", "p: field T.A int", "p: method (T) M(int, int) error",
	}
	if diff := cmp.Diff(want, was); diff != "" {
		t.Fatalf("the listing (-want +got):\n%s", diff)
	}
	for name, c := range map[string]struct{ from, to, gone, added string }{
		"a function that is gone":         {"func F(opts ...func(x T)) {}", "", "p: func F(...func(p.T))", ""},
		"a field of another type":         {"A int", "A int64", "p: field T.A int", "p: field T.A int64"},
		"a field that is gone":            {"A int; ", "", "p: field T.A int", ""},
		"a method with more":              {"a, b int", "a, b, c int", "p: method (T) M(int, int) error", "p: method (T) M(int, int, int) error"},
		"a constant of another size":      {"C = 1", "C = 2", "p: const C untyped int = 1", "p: const C untyped int = 2"},
		"an interface that asks for more": {"N() }", "N(); O() }", "p: type I interface{N}", "p: type I interface{N; O}|p: method (I) O()"},
		"another name of a parameter":     {"a, b int", "x, y int", "", ""},
		"a field that nobody sees":        {"; b string", "", "", ""},
		"more":                            {"type I", "func G() {}\ntype I", "", "p: func G()"},
	} {
		t.Run(name, func(t *testing.T) {
			gone, added := apiChanges(was, exportedAPI(sourcePackage(t, strings.Replace(before, c.from, c.to, 1))))
			if strings.Join(gone, "|") != c.gone || strings.Join(added, "|") != c.added {
				t.Errorf("gone %q, added %q", gone, added)
			}
		})
	}
}

// apiChanges compares two listings.
func apiChanges(was, is []string) (gone, added []string) {
	for _, line := range was {
		if !slices.Contains(is, line) && line != "" {
			gone = append(gone, line)
		}
	}
	for _, line := range is {
		if !slices.Contains(was, line) {
			added = append(added, line)
		}
	}
	return gone, added
}

// apiPackages are the packages that the promise is about, as the compiler exports
// them.
func apiPackages(t *testing.T) []*types.Package {
	t.Helper()
	paths := []string{"github.com/flowrun/flowrun/sdk", "github.com/flowrun/flowrun/sdk/sdktest"}
	listed, err := exec.CommandContext(t.Context(), "go", append([]string{"list", "-export", "-deps", "-f", "{{.ImportPath}} {{.Export}}"}, paths...)...).Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	files := map[string]string{}
	for line := range strings.Lines(string(listed)) {
		path, file, _ := strings.Cut(strings.TrimSpace(line), " ")
		files[path] = file
	}
	compiled := importer.ForCompiler(token.NewFileSet(), "gc", func(path string) (io.ReadCloser, error) { return os.Open(files[path]) })
	var packages []*types.Package
	for _, path := range paths {
		p, err := compiled.Import(path)
		if err != nil {
			t.Fatal(err)
		}
		packages = append(packages, p)
	}
	return packages
}

// sourcePackage is a package p with this source, which may name Token, Server and
// Zero of generated code as p.X.
func sourcePackage(t *testing.T, source string) *types.Package {
	t.Helper()
	const generated = "package v1\ntype Token struct { Text string }\nconst Zero Token2 = 0\ntype Token2 int\ntype Server struct{}\nfunc (Server) Serve(Token) {}\n"
	wire := checkSource(t, generatedCode+"v1", generated, nil)
	return checkSource(t, "example.com/p", "package p\nimport p \""+generatedCode+"v1\"\ntype _ p.Token\n"+source, wire)
}

func checkSource(t *testing.T, path, source string, imported *types.Package) *types.Package {
	t.Helper()
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, "p.go", source, 0)
	if err != nil {
		t.Fatal(err)
	}
	config := types.Config{Importer: oneImport{imported}}
	p, err := config.Check(path, set, []*ast.File{file}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

type oneImport struct{ p *types.Package }

func (o oneImport) Import(string) (*types.Package, error) { return o.p, nil }

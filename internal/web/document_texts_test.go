package web

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"
)

// documentTexts returns what the document says of types and their fields: their
// comments.
func documentTexts(t *testing.T) map[string]string {
	t.Helper()
	comments := map[string]string{}
	for _, dir := range []string{".", "wire", "../../engine", "../../engine/preview", "../../engine/services", "../../engine/store", "../../engine/calls", "../../engine/connections", "../../engine/memory", "../../engine/trigger", "../../engine/upkeep", "../../engine/workspace", "../../engine/plan", "../../engine/runs", "../../engine/quota", "../../engine/diag", "../../engine/local", "../../engine/pluginhost"} {
		readComments(t, dir, comments)
	}
	return comments
}

// readComments adds the comments of the struct types of a folder: of a type under
// its name, of a field under type and field.
func readComments(t *testing.T, dir string, into map[string]string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, declaration := range parsed.Decls {
			general, ok := declaration.(*ast.GenDecl)
			if !ok || general.Tok != token.TYPE {
				continue
			}
			for _, spec := range general.Specs {
				addComments(parsed.Name.Name, general, spec.(*ast.TypeSpec), into)
			}
		}
	}
}

func addComments(packageName string, general *ast.GenDecl, spec *ast.TypeSpec, into map[string]string) {
	if spec.Assign.IsValid() {
		into["alias "+spec.Name.Name] = wording(general.Doc)
	}
	shape, ok := spec.Type.(*ast.StructType)
	if !ok {
		return
	}
	name := packageName + "." + spec.Name.Name
	into[name] = wording(spec.Doc)
	if spec.Doc == nil {
		into[name] = wording(general.Doc)
	}
	for _, field := range shape.Fields.List {
		text := wording(field.Doc)
		if text == "" {
			text = wording(field.Comment)
		}
		for _, ident := range field.Names {
			into[name+"."+ident.Name] = text
		}
	}
}

func wording(comments *ast.CommentGroup) string {
	return strings.Join(strings.Fields(comments.Text()), " ")
}

package web

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/flowrun/flowrun/internal/web/guard"
)

// documentFile is the committed document: what changes the API shows there.
var documentFile = filepath.Join("..", "..", "docs", "openapi.json")

func TestTheCommittedDocumentIsThatOfTheAPI(t *testing.T) {
	want, err := writeDocument(documentTexts(t))
	if err != nil {
		t.Fatal(err)
	}
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile(documentFile, want, 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(documentFile+".gz", zipped(t, want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(documentFile)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("docs/openapi.json is not the document of the API any more: run `UPDATE=1 go test ./internal/web -run %s` and read the difference", t.Name())
	}
}

// zipped is what the program holds of the document.
func zipped(t *testing.T, document []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(document); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestTheServedDocumentIsTheCommittedOne(t *testing.T) {
	handler, _ := newTestHandler(t, new(fakeRuns))
	w := request(handler, "GET", Prefix+"/openapi.json", "", "")
	want, err := os.ReadFile(documentFile)
	if err != nil {
		t.Fatal(err)
	}
	if w.Code != 200 || !bytes.Equal(w.Body.Bytes(), want) {
		t.Errorf("status %d, %d bytes, want %d", w.Code, w.Body.Len(), len(want))
	}
}

// parsedDocument is what the tests read of the document.
type parsedDocument struct {
	OpenAPI string
	Paths   map[string]map[string]struct {
		OperationID string `json:"operationId"`
		Summary     string
		Tags        []string
		Scope       string `json:"x-scope"`
		Security    []map[string][]string
		Responses   map[string]any
	}
	Components struct{ Schemas map[string]json.RawMessage }
}

func readDocument(t *testing.T) (parsedDocument, []byte) {
	t.Helper()
	data, err := writeDocument(documentTexts(t))
	if err != nil {
		t.Fatal(err)
	}
	var document parsedDocument
	if err := json.Unmarshal(data, &document); err != nil {
		t.Fatal(err)
	}
	return document, data
}

func TestTheDocumentHoldsEveryRouteAndNoOther(t *testing.T) {
	document, _ := readDocument(t)
	var documented, routes []string
	for path, operations := range document.Paths {
		for method, operation := range operations {
			documented = append(documented, strings.ToUpper(method)+" "+path)
			if operation.OperationID == "" || operation.Summary == "" || len(operation.Tags) != 1 {
				t.Errorf("%s %s lacks an id, a summary or its tag: %+v", method, path, operation)
			}
			if operation.Responses["default"] == nil {
				t.Errorf("%s %s does not say what an error looks like", method, path)
			}
		}
	}
	for _, route := range Routes() {
		if route.Face == FaceSocket || strings.Contains(route.Pattern, splitPattern) {
			continue
		}
		routes = append(routes, route.Pattern)
		method, path, _ := strings.Cut(route.Pattern, " ")
		operation := document.Paths[path][strings.ToLower(method)]
		proofs := 0
		if route.Face == guard.FaceAPI {
			proofs = 1
		}
		if operation.Scope != string(route.Scope) || len(operation.Security) != proofs {
			t.Errorf("%s: the document says scope %q, the table %q", route.Pattern, operation.Scope, route.Scope)
		}
	}
	slices.Sort(documented)
	slices.Sort(routes)
	if !slices.Equal(documented, routes) {
		t.Errorf("documented %v\nroutes %v", documented, routes)
	}
}

func TestEveryReferenceOfTheDocumentLeadsSomewhere(t *testing.T) {
	document, data := readDocument(t)
	if !strings.HasPrefix(document.OpenAPI, "3.1") {
		t.Errorf("version %s", document.OpenAPI)
	}
	used := map[string]bool{}
	for _, match := range regexp.MustCompile(`"#/components/schemas/([^"]+)"`).FindAllSubmatch(data, -1) {
		name := string(match[1])
		used[name] = true
		if document.Components.Schemas[name] == nil {
			t.Errorf("there is no schema %s", name)
		}
	}
	for name := range document.Components.Schemas {
		if !used[name] {
			t.Errorf("nobody uses the schema %s", name)
		}
	}
}

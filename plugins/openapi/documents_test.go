package openapi_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flowrun/flowrun/plugins/openapi"
)

// TestIssue16_2_DocumentsOfManyShapes: each small document describes its actions, and
// says by place what is left out. UPDATE=1 writes what is expected.
func TestIssue16_2_DocumentsOfManyShapes(t *testing.T) {
	t.Parallel()
	documents, err := filepath.Glob("testdata/documents/*.*")
	if err != nil {
		t.Fatal(err)
	}
	if len(documents) < 20 {
		t.Fatalf("there are %d documents only", len(documents))
	}
	for _, document := range documents {
		t.Run(filepath.Base(document), func(t *testing.T) {
			t.Parallel()
			got := told(t, document)
			golden := filepath.Join("testdata/golden", filepath.Base(document)+".txt")
			if os.Getenv("UPDATE") != "" {
				if err := os.WriteFile(golden, []byte(got), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("the description is another (-want +got):\n%s", diff)
			}
			if again := told(t, document); again != got {
				t.Errorf("the description differs from one reading to the next:\n%s", cmp.Diff(got, again))
			}
		})
	}
}

// told is all that a document is read as, for people.
func told(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	service, err := openapi.Read(openapi.Settings{Document: filepath.Base(path)}, openapi.Files{Document: text})
	if err != nil {
		return "refused: " + err.Error() + "\n"
	}
	var out strings.Builder
	fmt.Fprintf(&out, "%s %s\nbase_url: %s\nconfig: %s\n", service.Title, service.Version, service.BaseURL, pretty(t, service.ConfigSchema()))
	for _, note := range service.Notes() {
		fmt.Fprintf(&out, "note: %s\n", note)
	}
	for _, o := range service.Operations {
		action, err := service.Action(o.Name)
		if err != nil {
			t.Fatal(err)
		}
		recipe, err := action.Recipe.Encode()
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&out, "\n%s %s: %s\n", o.Name, action.EffectWord(), o.Doc)
		if o.Deprecated != "" {
			fmt.Fprintf(&out, "deprecated: %s\n", o.Deprecated)
		}
		fmt.Fprintf(&out, "input: %s\noutput: %s\nrecipe: %s\n", pretty(t, action.Input), pretty(t, action.Output), pretty(t, recipe))
		for _, fault := range action.Faults {
			fmt.Fprintf(&out, "fault: %s %s %s\n", fault.Code, fault.Reason, fault.Doc)
		}
	}
	return out.String()
}

func pretty(t *testing.T, text []byte) string {
	t.Helper()
	var out bytes.Buffer
	if err := json.Indent(&out, text, "", "  "); err != nil {
		t.Fatalf("no JSON: %v\n%s", err, text)
	}
	return out.String()
}

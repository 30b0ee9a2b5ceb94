package openapi_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/flowrun/flowrun/plugins/openapi"
)

// FuzzDocuments: whatever the text is, reading it ends with a service or with an error,
// never in a panic, and what it describes is JSON.
func FuzzDocuments(f *testing.F) {
	documents, err := filepath.Glob("testdata/documents/*.*")
	if err != nil {
		f.Fatal(err)
	}
	for _, document := range documents {
		text, err := os.ReadFile(document)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text, []byte(`{"overlay":"1.0.0","actions":[{"target":"$..get","update":{"x-flowrun-effect":"read"}}]}`))
	}
	f.Fuzz(func(t *testing.T, text, overlay []byte) {
		if len(overlay)%2 == 0 {
			overlay = nil
		}
		service, err := openapi.Read(openapi.Settings{Document: "d", Overlay: "o"}, openapi.Files{Document: text, Overlay: overlay})
		if err != nil {
			return
		}
		service.Notes()
		for _, o := range service.Operations {
			action, err := service.Action(o.Name)
			if err != nil {
				t.Fatalf("%s: %v", o.Name, err)
			}
			recipe, err := action.Recipe.Encode()
			if err != nil {
				t.Fatalf("%s: %v", o.Name, err)
			}
			for _, part := range [][]byte{action.Input, action.Output, recipe, service.ConfigSchema()} {
				if !json.Valid(part) {
					t.Fatalf("%s: no JSON: %s", o.Name, part)
				}
			}
		}
	})
}

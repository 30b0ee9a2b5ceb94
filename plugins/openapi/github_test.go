package openapi_test

import (
	"compress/gzip"
	"io"
	"os"
	"testing"

	"github.com/flowrun/flowrun/plugins/openapi"
)

// github is GitHub's public document: 13 MB with 1,223 operations.
func github(t testing.TB) []byte {
	t.Helper()
	file, err := os.Open("testdata/github/api.github.com.json.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	unpacked, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(unpacked)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func BenchmarkIndexOfGitHub(b *testing.B) {
	text := github(b)
	for b.Loop() {
		if _, err := openapi.Read(openapi.Settings{Document: "github.json"}, openapi.Files{Document: text}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkNotesOfGitHub(b *testing.B) {
	text := github(b)
	for b.Loop() {
		service, err := openapi.Read(openapi.Settings{Document: "github.json"}, openapi.Files{Document: text})
		if err != nil {
			b.Fatal(err)
		}
		service.Notes()
	}
}

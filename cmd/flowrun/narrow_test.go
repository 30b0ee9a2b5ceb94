package main_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/flowrun/flowrun/internal/testbuild"
)

// TestIssue15_2_NarrowedByItsCaller: a workflow says what an answer is, validate proves its
// expressions by that, and an answer that breaks it fails the step that got it, not an
// expression further down. One that keeps to it goes through.
func TestIssue15_2_NarrowedByItsCaller(t *testing.T) {
	t.Parallel()
	var answer atomic.Value
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprint(w, answer.Load())
	}))
	t.Cleanup(service.Close)
	dir := t.TempDir()
	binary := experienced(t, dir)
	if err := testbuild.Program(filepath.Join(dir, "getter"), "./testdata/getter"); err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile("testdata/getter/narrow.yaml")
	if err != nil {
		t.Fatal(err)
	}
	write(t, dir, "narrow.yaml", string(source))
	write(t, dir, "flowrun.yaml", "plugins: {lg: {source: ./getter}}\nconnections: {lg: {plugin: lg, config: {base_url: \""+service.URL+"\"}}}\n")
	check := func(code int, texts ...string) {
		t.Helper()
		output, got := flowrunIn(t, binary, dir, "run", "narrow.yaml")
		for _, text := range texts {
			if got != code || !strings.Contains(output, text) {
				t.Errorf("run exits with %d, want %d and %q:\n%s", got, code, text, output)
			}
		}
	}
	if output, code := flowrunIn(t, binary, dir, "validate", "--strict", "narrow.yaml"); code != 0 {
		t.Fatalf("validate exits with %d:\n%s", code, output)
	}
	answer.Store(`{"charges": "many", "tokens": 3}`)
	check(0, "MANY")
	answer.Store(`{"charges": 7, "tokens": 3}`)
	check(5, "/body/charges", "unexpected_response")
	write(t, dir, "narrow.yaml", strings.Replace(string(source), "charges: {type: string}", "charges: {type: integer}", 1))
	if output, code := flowrunIn(t, binary, dir, "validate", "narrow.yaml"); code != 3 || !strings.Contains(output, "narrow.yaml:11") {
		t.Errorf("validate exits with %d:\n%s", code, output)
	}
}

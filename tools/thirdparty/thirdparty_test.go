package main

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestWhatIsNotPublishedIsSeen changes a copy, takes a file from it and adds one: check
// fails, and write makes it as it was.
func TestWhatIsNotPublishedIsSeen(t *testing.T) {
	here := t.TempDir()
	all, err := readModules("../" + root)
	if err != nil {
		t.Fatal(err)
	}
	var one []copied
	for _, c := range all {
		if c.Folder == "jsonschema-go" {
			one = append(one, c)
		}
	}
	list, err := json.Marshal(one)
	if err != nil || len(one) != 1 {
		t.Fatalf("%d copies are named jsonschema-go: %v", len(one), err)
	}
	for _, name := range []string{"jsonschema-go", "patches"} {
		if err := os.CopyFS(filepath.Join(here, name), os.DirFS(filepath.Join("..", root, name))); err != nil {
			t.Fatal(err)
		}
	}
	put(t, filepath.Join(here, "modules.json"), string(list))
	do := func(command string) error { return run(t.Context(), here, []string{command}, io.Discard) }
	if err := do("check"); err != nil {
		t.Fatalf("as it stands: %v", err)
	}
	file := filepath.Join(here, "jsonschema-go", "jsonschema", "infer.go")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for what, change := range map[string]func(){
		"one letter":     func() { put(t, file, strings.Replace(string(text), "package", "Package", 1)) },
		"a file is gone": func() { _ = os.Remove(file) },
		"a file is new":  func() { put(t, filepath.Join(filepath.Dir(file), "new.go"), "package jsonschema\n") },
	} {
		change()
		if err := do("check"); err == nil {
			t.Errorf("%s: nothing is said", what)
		}
		if err := do("write"); err != nil {
			t.Fatal(err)
		}
		if err := do("check"); err != nil {
			t.Errorf("%s, and written anew: %v", what, err)
		}
	}
}

func put(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

package main

import (
	"bytes"
	"crypto/sha256"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestIssue15_WhatIsNoReleaseIsFound: the program of this test is none.
func TestIssue15_WhatIsNoReleaseIsFound(t *testing.T) {
	file, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	own, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := stampedInto(own); err == nil {
		t.Error("a program that names no commit goes out")
	}
	if err := checkProgram(here(), make([]byte, maxSize)); err == nil || !strings.Contains(err.Error(), "may have less than 47000000") {
		t.Errorf("one that is too large: %v", err)
	}
	if len(own) < maxSize {
		if err := checkProgram(here(), own); err == nil || !strings.Contains(err.Error(), "it is not st") {
			t.Errorf("one with symbols: %v", err)
		}
	}
	if err := checkProgram(here(), []byte("#!/bin/sh\n")); err == nil {
		t.Error("a script goes out")
	}
}

// TestIssue15_AReleaseIsWhatItsSumsSay, no more and no less, and signed where a key is
// asked for.
func TestIssue15_AReleaseIsWhatItsSumsSay(t *testing.T) {
	dir := t.TempDir()
	put := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put("a.tar.gz", "bytes")
	sums := []byte(sumLines(map[string][sha256.Size]byte{"a.tar.gz": sha256.Sum256([]byte("bytes"))}))
	put(sumsFile, string(sums))
	if files, err := checkSums(dir, sums); err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	put("more", "x")
	if _, err := checkSums(dir, sums); err == nil || !strings.Contains(err.Error(), "more has no line") {
		t.Errorf("a file too many: %v", err)
	}
	if err := os.Remove(filepath.Join(dir, "more")); err != nil {
		t.Fatal(err)
	}
	put("a.tar.gz", "bytez")
	if _, err := checkSums(dir, sums); err == nil || !strings.Contains(err.Error(), "a.tar.gz has the sum") {
		t.Errorf("a changed byte: %v", err)
	}
	for _, line := range []string{"x\n", strings.Replace(string(sums), "a.tar.gz", "../a", 1)} {
		if _, err := checkSums(dir, []byte(line)); err == nil {
			t.Errorf("the line %q is taken", line)
		}
	}
	key, _ := newKey(t)
	if err := check(t.Context(), dir, publicOf(key), io.Discard); err == nil || !strings.Contains(err.Error(), "is not signed") {
		t.Errorf("no signature: %v", err)
	}
	put(sigFile, string(signature(key, append(bytes.Clone(sums), '\n'))))
	if err := check(t.Context(), dir, publicOf(key), io.Discard); err == nil || !strings.Contains(err.Error(), "is not the signature") {
		t.Errorf("the signature of something else: %v", err)
	}
}

func TestIssue15_SystemsAreChosenByTheirNames(t *testing.T) {
	if all, err := chosen(""); err != nil || len(all) != 4 {
		t.Errorf("%v %v", all, err)
	}
	if two, err := chosen("darwin_arm64,linux_amd64"); err != nil || len(two) != 2 || two[0] != (target{"darwin", "arm64"}) {
		t.Errorf("%v %v", two, err)
	}
	if _, err := chosen("plan9_amd64"); err == nil {
		t.Error("a system that is none is taken")
	}
}

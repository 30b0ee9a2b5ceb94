package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	classifier "github.com/google/licenseclassifier/v2"
	"github.com/google/licenseclassifier/v2/assets"
)

// allowed are the licences, by their SPDX name, under which modules may be in the
// program: all let it be given on under Apache-2.0 when their texts go with it.
// MPL-2.0 holds file by file: of such a module one file is changed, and stands with the
// others in third_party/go-plugin.
var allowed = []string{"Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "ISC", "MIT", "MPL-2.0"}

// terms are the licences of a module and the texts that must go with it.
type terms struct {
	module module
	names  []string
	files  []string
}

// checkLicences fails when a module of any target has no licence that is known and
// allowed.
func checkLicences(ctx context.Context, out io.Writer) error {
	all := map[string]terms{}
	texts, err := assets.DefaultClassifier()
	if err != nil {
		return fmt.Errorf("read the texts of licences: %w", err)
	}
	for _, t := range targets() {
		modules, err := modulesOf(ctx, root, t)
		if err != nil {
			return err
		}
		for _, m := range modules {
			if _, known := all[m.Path+"@"+m.Version]; known {
				continue
			}
			found, err := termsOf(texts, m)
			if err != nil {
				return err
			}
			all[m.Path+"@"+m.Version] = found
		}
	}
	count := map[string]int{}
	for _, t := range all {
		count[strings.Join(t.names, " and ")]++
	}
	var lines []string
	for names, n := range count {
		lines = append(lines, fmt.Sprintf("%d %s", n, names))
	}
	slices.Sort(lines)
	fmt.Fprintf(out, "licences of %d modules are allowed: %s\n", len(all), strings.Join(lines, ", "))
	return nil
}

// termsOf finds the licences of a module. One that is not allowed is an error, and
// so is a file of terms in which none is found.
func termsOf(texts *classifier.Classifier, m module) (terms, error) {
	files, err := m.licenceFiles()
	if err != nil {
		return terms{}, err
	}
	if len(files) == 0 {
		return terms{}, fmt.Errorf("%s %s has no file that says its licence", m.Path, m.Version)
	}
	found := terms{module: m, files: files}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return terms{}, fmt.Errorf("read the licence of %s: %w", m.Path, err)
		}
		names := licencesIn(texts, text)
		if len(names) == 0 {
			return terms{}, fmt.Errorf("%s %s: no licence is known that reads like %s", m.Path, m.Version, filepath.Base(file))
		}
		for _, name := range names {
			if !slices.Contains(allowed, name) {
				return terms{}, fmt.Errorf("%s %s stands under %s, which is not among the allowed: %s", m.Path, m.Version, name, strings.Join(allowed, ", "))
			}
		}
		found.names = append(found.names, names...)
	}
	slices.Sort(found.names)
	found.names = slices.Compact(found.names)
	return found, nil
}

// licencesIn are the licences whose text, or whose words in the head of a file,
// stand in a text.
func licencesIn(texts *classifier.Classifier, text []byte) []string {
	var names []string
	for _, match := range texts.Match(text).Matches {
		if match.MatchType == "License" || match.MatchType == "Header" {
			names = append(names, match.Name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// writeTexts writes the licence of each module, for what is given on.
func writeTexts(w io.Writer, all []terms) error {
	_, err := fmt.Fprintf(w, "flowrun holds parts of these modules, each under its own terms.\n")
	for _, t := range all {
		for _, file := range t.files {
			text, readErr := os.ReadFile(file)
			_, writeErr := fmt.Fprintf(w, "\n%s\n%s %s (%s)\n\n%s", strings.Repeat("=", 80), t.module.Path, t.module.Version, strings.Join(t.names, ", "), text)
			err = errors.Join(err, readErr, writeErr)
		}
	}
	return err
}

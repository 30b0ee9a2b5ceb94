// Command page writes the figures of a measuring into a page of the documentation, between
// its marks, and draws the picture beside it:
//
//	page -doc docs/performance.md -picture docs/images/performance.svg FIGURES.jsonl ...
//
// What people wrote around the marks stays as it is.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"github.com/flowrun/flowrun/bench/figures"
)

func main() {
	if err := command(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "page:", err)
		os.Exit(1)
	}
}

func command(args []string) error {
	flags := flag.NewFlagSet("page", flag.ContinueOnError)
	doc := flags.String("doc", "docs/performance.md", "the page with the marks")
	picture := flags.String("picture", "docs/images/performance.svg", "where the picture is written")
	if err := flags.Parse(args); err != nil {
		return err
	}
	samples, err := readAll(flags.Args())
	if err != nil {
		return err
	}
	text, err := os.ReadFile(*doc)
	if err != nil {
		return err
	}
	name, err := filepath.Rel(filepath.Dir(*doc), *picture)
	if err != nil {
		return err
	}
	drawn := figures.Picture(samples)
	if drawn == "" {
		name = ""
	}
	page, err := figures.Page(string(text), samples, filepath.ToSlash(name))
	if err != nil {
		return fmt.Errorf("%s: %w", *doc, err)
	}
	if drawn != "" {
		if err := os.WriteFile(*picture, []byte(drawn), 0o644); err != nil {
			return err
		}
	}
	return os.WriteFile(*doc, []byte(page), 0o644)
}

func readAll(names []string) ([]figures.Sample, error) {
	if len(names) == 0 {
		return nil, errors.New("which samples? Give the files that bench/scenarios and bench/peers wrote")
	}
	var all []figures.Sample
	for _, name := range names {
		file, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		samples, err := figures.Read(file)
		file.Close()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		all = append(all, samples...)
	}
	return all, nil
}

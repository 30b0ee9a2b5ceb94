// Command profiles says in text where the processor time of measured steps and runs goes,
// and writes it into a page of the documentation, between its marks:
//
//	profiles -doc docs/performance.md SAMPLES.jsonl
//
// The samples are those of `bench/scenarios -profiles DIR -o SAMPLES.jsonl`, which name
// the profile of each. It is a module of its own, so that what reads profiles is not in
// flowrun's go.mod.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/google/pprof/profile"
)

func main() {
	if err := command(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "profiles:", err)
		os.Exit(1)
	}
}

func command(args []string, out io.Writer) error {
	flags := flag.NewFlagSet("profiles", flag.ContinueOnError)
	doc := flags.String("doc", "", "the page with the marks; printed alone otherwise")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() != 1 {
		return errors.New("which samples? Give the file that bench/scenarios -profiles wrote")
	}
	samples, err := readSamples(flags.Arg(0))
	if err != nil {
		return err
	}
	works, err := readWorks(samples)
	if err != nil {
		return err
	}
	text := table(works)
	if *doc == "" {
		_, err = io.WriteString(out, text)
		return err
	}
	page, err := os.ReadFile(*doc)
	if err != nil {
		return err
	}
	written, err := between(string(page), text)
	if err != nil {
		return fmt.Errorf("%s: %w", *doc, err)
	}
	return os.WriteFile(*doc, []byte(written), 0o644)
}

// sample is what is needed of figures.Sample.
type sample struct {
	Program  string `json:"program"`
	Scenario string `json:"scenario"`
	Variant  string `json:"variant"`
	Units    int    `json:"units"`
	Unit     string `json:"unit"`
	Profile  string `json:"profile"`
}

// readSamples reads those samples of a file that have a profile.
func readSamples(name string) ([]sample, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	var found []sample
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for n := 1; lines.Scan(); n++ {
		var s sample
		if err := json.Unmarshal(lines.Bytes(), &s); err != nil {
			return nil, fmt.Errorf("%s: line %d: %w", name, n, err)
		}
		if s.Profile != "" {
			found = append(found, s)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("%s: no sample has a profile: bench/scenarios writes them with -profiles", name)
	}
	return found, nil
}

// work is what several repetitions of one program and variant took.
type work struct {
	program, scenario, variant, unit string
	units                            int
	spent                            shares
}

// readWorks reads the profiles of samples, and adds up those of one work.
func readWorks(samples []sample) ([]*work, error) {
	var works []*work
	for _, s := range samples {
		w := find(works, s)
		if w == nil {
			w = &work{program: s.Program, scenario: s.Scenario, variant: s.Variant, unit: s.Unit, spent: shares{}}
			works = append(works, w)
		}
		if err := w.add(s); err != nil {
			return nil, fmt.Errorf("profile %s: %w", s.Profile, err)
		}
	}
	return works, nil
}

func find(works []*work, s sample) *work {
	for _, w := range works {
		if w.program == s.Program && w.scenario == s.Scenario && w.variant == s.Variant {
			return w
		}
	}
	return nil
}

func (w *work) add(s sample) error {
	file, err := os.Open(s.Profile)
	if err != nil {
		return err
	}
	defer file.Close()
	p, err := profile.Parse(file)
	if err != nil {
		return err
	}
	w.units += s.Units
	return w.spent.add(p)
}

// Package figures holds what the programs of bench/ measure, as lines of JSON, and makes
// of it what people read: medians, ratios to the floor, goals met and missed, tables and a
// picture.
package figures

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"time"
)

// Sample is one measured repetition. Times are in nanoseconds. A figure of 0 was not
// measured, except those of Values, which are there or not.
type Sample struct {
	Program  string `json:"program"`           // flowrun, floor, or a peer with its version
	Scenario string `json:"scenario"`          // S1, S2r, .. as in the table of goals
	Variant  string `json:"variant,omitempty"` // what tells samples of one scenario apart: a policy, a number of stored runs
	Units    int    `json:"units,omitempty"`   // how many steps, items or runs were done
	Unit     string `json:"unit,omitempty"`    // step, item, run, command

	Wall      time.Duration `json:"wall_ns,omitempty"`
	CPU       time.Duration `json:"cpu_ns,omitempty"`        // of the engine's process
	PluginCPU time.Duration `json:"plugin_cpu_ns,omitempty"` // of the plugin's
	P99       time.Duration `json:"p99_ns,omitempty"`        // of one unit, from its start to its end

	Commits    uint64 `json:"commits,omitempty"`
	Fsyncs     uint64 `json:"fsyncs,omitempty"`
	Written    uint64 `json:"written_bytes,omitempty"` // by the store, in pages
	Allocs     uint64 `json:"allocs,omitempty"`        // of the engine's process
	AllocBytes uint64 `json:"alloc_bytes,omitempty"`
	RssAnon    int64  `json:"rss_anon_bytes,omitempty"`

	Values map[string]float64 `json:"values,omitempty"` // what one scenario alone has

	Repetition int     `json:"repetition,omitempty"`
	Load       float64 `json:"load,omitempty"`    // of the machine in the minute before
	Running    int     `json:"running,omitempty"` // threads that wanted a processor just before
	Durability string  `json:"durability,omitempty"`
	Profile    string  `json:"profile,omitempty"` // the file that says where the processor time of the engine's process went; such a sample's times are not to be compared
	Skipped    string  `json:"skipped,omitempty"` // why nothing was measured
}

// Write writes a sample as one line.
func Write(w io.Writer, s Sample) error {
	line, err := json.Marshal(s)
	if err != nil {
		return fmt.Errorf("write a sample of %s: %w", s.Scenario, err)
	}
	_, err = w.Write(append(line, '\n'))
	return err
}

// Read reads lines of samples to the end.
func Read(r io.Reader) ([]Sample, error) {
	var all []Sample
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	for n := 1; lines.Scan(); n++ {
		if len(lines.Bytes()) == 0 {
			continue
		}
		var s Sample
		if err := json.Unmarshal(lines.Bytes(), &s); err != nil {
			return nil, fmt.Errorf("line %d of the samples: %w", n, err)
		}
		all = append(all, s)
	}
	return all, lines.Err()
}

package killloop

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/flowrun/flowrun/internal/suitesize"
)

// The load of the soak.
const (
	soakRate  = 50  // runs a second
	soakOpen  = 200 // runs at a time, at the most
	soakShort = 10 * time.Second
	soakKeep  = 500 // runs that retention keeps
)

// Tolerances of the soak: what a value may rise over its second half.
const (
	memoryRise = 6 << 20   // bytes, and a twentieth of the mean
	countRise  = 12        // goroutines, descriptors, and a twentieth of the mean
	storeRise  = 20 << 20  // bytes, more than a step of the file, and a fifth of the largest of the first half
	runMemory  = 128 << 10 // bytes for each run that is open more than before
	runCount   = 10        // goroutines, descriptors for each of them
)

// TestSoak runs mixed runs with retention on, in a process of its own:
// FLOWRUN_SOAK=30m for the whole. Its memory must not rise, its file be bounded,
// and nothing be left behind.
func TestSoak(t *testing.T) {
	t.Parallel()
	if os.Getenv("FLOWRUN_SOAK") == "" && !suitesize.All() {
		t.Skip("SKIPPED: FLOWRUN_SUITES=all soaks for some seconds, make soak for half an hour")
	}
	slack := 4.0 // of a short form: what runs gather and a heap's first steps weigh more
	if os.Getenv("FLOWRUN_SOAK") != "" {
		slack = 1
	}
	samples := soaked(t)
	t.Logf("%d runs\n%s", samples[len(samples)-1].Ended, table(samples))
	for _, problem := range judge(samples, slack) {
		t.Error(problem)
	}
	// The negative control: the same samples, with a leak in each.
	for what, leak := range leaks() {
		leaking := append([]sample(nil), samples...)
		for i := range leaking {
			leak(&leaking[i])
		}
		if len(judge(leaking, slack)) == 0 {
			t.Errorf("a leak of %s was not found", what)
		}
	}
}

// leaks spoil a sample as a leak would: so much for each second of the load.
func leaks() map[string]func(*sample) {
	return map[string]func(*sample){
		"memory":      func(s *sample) { s.Anonymous += int64(s.At.Seconds()*64) << 20 },
		"heap":        func(s *sample) { s.Heap += int64(s.At.Seconds()*64) << 20 },
		"goroutines":  func(s *sample) { s.Goroutines += int(s.At.Seconds() * soakRate) },
		"descriptors": func(s *sample) { s.Files += int(s.At.Seconds() * soakRate) },
		"processes":   func(s *sample) { s.Plugins += int(s.At.Seconds()) },
		"the file":    func(s *sample) { s.Store += int64(s.At.Seconds()*512) << 20 }, // a fifth of what is there is tolerated
	}
}

// soaked runs the load and returns the samples.
func soaked(t *testing.T) (samples []sample) {
	t.Helper()
	lasts, every, keep := soakShort, time.Second, 50
	if text := os.Getenv("FLOWRUN_SOAK"); text != "" {
		var err error
		if lasts, err = time.ParseDuration(text); err != nil || lasts < soakShort {
			t.Fatalf("FLOWRUN_SOAK=%s: want a duration from %s", text, soakShort)
		}
		every, keep = min(5*time.Second, lasts/10), soakKeep
	}
	service := newCounter(t, random(1, "soak"), 2*time.Millisecond)
	service.light = true
	dir := t.TempDir()
	flows := loopFlows()[:3]
	writeProject(t, dir, service.URL, fmt.Sprintf("retention: {max_runs: %d, max_total: %d}\n", keep, keep), flows)
	r := role{Dir: dir, URL: service.URL, Parallel: soakOpen, Rate: soakRate, Lasts: lasts, Every: every}
	for _, f := range flows {
		r.Requests = append(r.Requests, request{ID: f.name, Flow: f.name})
	}
	troubles := 0
	child := startChild(t, r, func(said line) {
		switch said.Kind {
		case lineSample:
			samples = append(samples, *said.Sample)
		case lineTrouble:
			if troubles++; troubles <= shownPlaces {
				t.Errorf("child: %s", said.Text)
			}
		}
	})
	if _, err := child.wait(t, lasts+childLimit); err != nil {
		t.Fatalf("the engine ended with %v\n%s", err, child.stderr.String())
	}
	if t.Failed() {
		t.Logf("the engine's log ends with:\n%s", lastBytes(child.stderr.String(), shownLog))
	}
	if len(samples) < 6 {
		t.Fatalf("only %d samples", len(samples))
	}
	if rate := float64(samples[len(samples)-1].Ended) / lasts.Seconds(); rate < soakRate*9/10 && os.Getenv("FLOWRUN_SOAK") != "" {
		t.Errorf("%.1f runs a second ended, want %d: the machine was too busy to show anything", rate, soakRate)
	}
	return samples
}

// shownLog is how much of the engine's log is shown when the soak fails.
const shownLog = 32 << 10

func lastBytes(text string, n int) string { return text[max(0, len(text)-n):] }

// judge looks for what grows. slack multiplies what is tolerated.
func judge(samples []sample, slack float64) (problems []string) {
	before, after, load := samples[0], samples[len(samples)-1], samples[1:len(samples)-1]
	if !before.Rest || !after.Rest {
		return []string{"the samples do not begin and end at rest"}
	}
	half := load[len(load)/2:]
	// A busy machine lets runs gather: what they take is no leak.
	gathered, _ := trend(half, func(s sample) float64 { return float64(s.Started - s.Ended) })
	rises := func(what string, of func(sample) float64, tolerance, perRun float64) {
		rise, mean := trend(half, of)
		if limit := slack * (tolerance + mean/20 + perRun*max(gathered, 0)); rise > limit {
			problems = append(problems, fmt.Sprintf("%s rose by %.0f in the second half, around %.0f; %.0f are allowed", what, rise, mean, limit))
		}
	}
	rises("anonymous memory", func(s sample) float64 { return float64(s.Anonymous) }, memoryRise, runMemory)
	rises("the live heap", func(s sample) float64 { return float64(s.Heap) }, memoryRise, runMemory)
	rises("the plugins' memory", func(s sample) float64 { return float64(s.PluginRSS) }, memoryRise, runMemory)
	rises("goroutines", func(s sample) float64 { return float64(s.Goroutines) }, countRise, runCount)
	rises("descriptors", func(s sample) float64 { return float64(s.Files) }, countRise, runCount)
	first, last := int64(0), int64(0)
	for _, s := range load[:len(load)/2] {
		first = max(first, s.Store)
	}
	for _, s := range half {
		last = max(last, s.Store)
	}
	if float64(last-first) > slack*float64(first/5+storeRise) {
		problems = append(problems, fmt.Sprintf("the file grew from %d to %d bytes in the second half", first, last))
	}
	for what, counts := range map[string][2]int{
		"goroutines": {before.Goroutines, after.Goroutines}, "descriptors": {before.Files, after.Files}, "plugins": {before.Plugins, after.Plugins},
	} {
		if counts[1] > counts[0]+5 {
			problems = append(problems, fmt.Sprintf("at rest there are %d %s, before the load there were %d", counts[1], what, counts[0]))
		}
	}
	if after.Failed > 0 {
		problems = append(problems, fmt.Sprintf("%d runs did not succeed", after.Failed))
	}
	return problems
}

// trend fits a line (least squares) and returns by how much it rises over the
// samples, and the mean.
func trend(samples []sample, of func(sample) float64) (rise, mean float64) {
	n := float64(len(samples))
	var meanX, meanY, xy, xx float64
	for _, s := range samples {
		meanX += s.At.Seconds() / n
		meanY += of(s) / n
	}
	for _, s := range samples {
		x := s.At.Seconds() - meanX
		xy += x * (of(s) - meanY)
		xx += x * x
	}
	if xx == 0 {
		return 0, meanY
	}
	return xy / xx * (samples[len(samples)-1].At - samples[0].At).Seconds(), meanY
}

// table shows the samples, at most forty of them.
func table(samples []sample) string {
	var out strings.Builder
	fmt.Fprintf(&out, "%8s %8s %8s %9s %9s %6s %6s %8s %9s %9s\n", "at", "started", "ended", "rss anon", "heap", "gorout", "files", "plugins", "their rss", "store")
	step := max(1, len(samples)/40)
	for i, s := range samples {
		if i%step != 0 && i != len(samples)-1 {
			continue
		}
		fmt.Fprintf(&out, "%8s %8d %8d %8.1fM %8.1fM %6d %6d %8d %8.1fM %8.1fM\n", s.At.Round(100*time.Millisecond), s.Started, s.Ended,
			mib(s.Anonymous), mib(s.Heap), s.Goroutines, s.Files, s.Plugins, mib(s.PluginRSS), mib(s.Store))
	}
	return out.String()
}

func mib(bytes int64) float64 { return float64(bytes) / (1 << 20) }

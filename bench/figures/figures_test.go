package figures

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestSamplesComeBackAsTheyWere(t *testing.T) {
	want := []Sample{
		{Program: "flowrun", Scenario: "S2", Units: 1000, Unit: "step", Wall: time.Second, Values: map[string]float64{"a": 0.5}, Repetition: 2, Load: 1.5},
		{Program: "floor", Scenario: "S2", Skipped: "there is none"},
	}
	var text bytes.Buffer
	for _, s := range want {
		if err := Write(&text, s); err != nil {
			t.Fatal(err)
		}
	}
	got, err := Read(&text)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if _, err := Read(strings.NewReader("{}\nnothing\n")); err == nil || !strings.Contains(err.Error(), "line 2") {
		t.Errorf("a damaged line: %v", err)
	}
}

func TestTheMiddleOfValues(t *testing.T) {
	for name, c := range map[string]struct {
		values      []float64
		median      float64
		least, most float64
	}{
		"none":    {nil, 0, 0, 0},
		"one":     {[]float64{3}, 3, 3, 3},
		"even":    {[]float64{4, 1, 3, 2}, 2, 1, 4},
		"uneven":  {[]float64{9, 1, 5}, 5, 1, 9},
		"the one": {[]float64{100, 1, 1, 1, 1}, 1, 1, 100},
	} {
		before := slices.Clone(c.values)
		if m, l, x := Median(c.values), Least(c.values), Most(c.values); m != c.median || l != c.least || x != c.most {
			t.Errorf("%s: %v, %v and %v", name, m, l, x)
		}
		if !slices.Equal(before, c.values) {
			t.Errorf("%s: the values were sorted in their place", name)
		}
	}
}

// steps are samples of 1,000 steps that took so many milliseconds.
func steps(program, scenario, variant string, milliseconds ...int) []Sample {
	var all []Sample
	for _, ms := range milliseconds {
		all = append(all, Sample{Program: program, Scenario: scenario, Variant: variant, Units: 1000, Unit: "step", Wall: time.Duration(ms) * time.Millisecond})
	}
	return all
}

func row(t *testing.T, samples []Sample, what string) Row {
	t.Helper()
	for _, r := range Rows(samples) {
		if strings.HasPrefix(r.What, what) {
			return r
		}
	}
	t.Fatalf("there is no line %q", what)
	return Row{}
}

func TestALineHoldsMedianFloorAndGoal(t *testing.T) {
	sequence := "1,000 steps with an effect"
	met := append(steps("flowrun", "S2", "", 1200, 1000, 1100), steps("floor", "S2", unaryMerged, 900, 5000, 1000)...)
	if r := row(t, met, sequence); r.Median != 1100 || r.Least != 1000 || r.Floor != 1000 || r.Ratio != 1.1 || r.Missed || r.N != 3 || r.Goal != "1.25 times the floor" {
		t.Errorf("%+v", r)
	}
	missed := append(steps("flowrun", "S2", "", 1300), steps("floor", "S2", unaryMerged, 1000)...)
	if r := row(t, missed, sequence); !r.Missed {
		t.Errorf("1.3 times the floor is met: %+v", r)
	}
	// Of a rate more is better: 1,000 runs in 2 s are half of those in 1 s.
	rate := append(steps("flowrun", "S4", "64 at a time", 2000, 4000), steps("floor", "S4", unaryMerged, 1000)...)
	if r := row(t, rate, "runs of 3 steps, 64"); r.Median != 250 || r.Least != 500 || r.Ratio != 0.25 || !r.Missed || r.Goal != "at least 0.60 of the floor" {
		t.Errorf("%+v", r)
	}
	quick := append(steps("flowrun", "S4", "64 at a time", 1500), steps("floor", "S4", unaryMerged, 1000)...)
	if r := row(t, quick, "runs of 3 steps, 64"); r.Missed {
		t.Errorf("two thirds of the floor are missed: %+v", r)
	}
}

func TestPairsAreComparedRepetitionByRepetition(t *testing.T) {
	// The second repetition was disturbed, both halves of it.
	samples := append(steps("flowrun", "watchers", "none", 100, 1000, 100), steps("flowrun", "watchers", "50", 110, 1200, 130)...)
	if r := row(t, samples, "a run of 1,000 items with 50"); r.Median != 1.2 || r.Missed {
		t.Errorf("%+v", r)
	}
	stores := slices.Concat(steps("flowrun", "S1", "let, empty", 10), steps("flowrun", "S1", "let, 10,000 runs", 11), steps("flowrun", "S1", "let, 100,000 runs", 14))
	if r := row(t, stores, "the three stores differ"); r.Median != 4 || !r.Missed {
		t.Errorf("%+v", r)
	}
}

func TestWhatFailsIsShownOnceAndMissed(t *testing.T) {
	samples := append(steps("flowrun", "data", "read, 10,000 rows", 100), Sample{Program: "flowrun", Scenario: "data", Variant: "map, 10,000 rows", Skipped: "it fails: too large"})
	r := row(t, samples, "map over 10,000")
	if !r.Missed || r.N != 0 || r.Skipped != "it fails: too large" {
		t.Errorf("%+v", r)
	}
	if text := Markdown(Rows(samples)); strings.Count(text, "too large") != 1 || !strings.Contains(text, "| missed |") {
		t.Errorf("the table is\n%s", text)
	}
}

func TestFiguresHaveTheDigitsThatMatter(t *testing.T) {
	for value, want := range map[float64]string{
		0: "0", 2: "2", 0.0049: "0.005", 0.1: "0.10", 2.004: "2.00", 12.34: "12.3", 123.4: "123", 1234.5: "1,235", 1234567: "1,234,567", -3.2: "-3.20", -1500: "-1,500",
	} {
		if got := number(value); got != want {
			t.Errorf("%v is written %q, not %q", value, got, want)
		}
	}
}

func TestWhatAUnitCosts(t *testing.T) {
	s := Sample{Program: "flowrun", Scenario: "S2", Units: 100, Unit: "step", Wall: time.Second, CPU: 500 * time.Millisecond, PluginCPU: 100 * time.Millisecond, Allocs: 25_000, AllocBytes: 100 << 10, Fsyncs: 200, Written: 400 << 10}
	want := "| S2 | flowrun | step | 10,000 | 5,000 | 1,000 | 250 | 1 | 2 | 4 |\n"
	if got := Costs([]Sample{s}); !strings.HasSuffix(got, want) {
		t.Errorf("the table is\n%s\nnot\n%s", got, want)
	}
}

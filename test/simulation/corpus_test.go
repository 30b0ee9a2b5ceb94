package simulation

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
)

// journalOf simulates one wild schedule of a seed and returns its compiled flow
// and its journal.
func journalOf(t testing.TB, seed uint64) (*sim, bool) {
	t.Helper()
	f := generate(seed, false)
	c, err := compile(t.Context(), f)
	if err != nil {
		t.Fatalf("seed %d: %v", seed, err)
	}
	s := newSim(c, &world{seed: seed, flow: f}, 0, false)
	s.crashes = s.r.IntN(3)
	s.people.wild()
	broken := ""
	func() {
		defer func() {
			if r := recover(); r != nil {
				broken = fmt.Sprint(r)
			}
		}()
		s.run()
	}()
	if broken != "" {
		t.Errorf("seed %d: %s", seed, broken)
	}
	return s, broken == ""
}

func TestP8RandomJournalsReplayToTheSameState(t *testing.T) {
	n, only := seeds(t, 500)
	from := uint64(1)
	if n == 0 {
		n, from = 1, only
	}
	n = min(n, 20_000)
	records, steps := 0, 0
	for i := range uint64(n) {
		s, ok := journalOf(t, from+i)
		if !ok {
			continue
		}
		records += len(s.journal.records)
		steps += len(s.m.Steps())
		// Every machine of another process compiles the stored plan.
		encodedPlan, err := s.c.workflow.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if err := replayStored(encodedPlan, s.journal.records, snapshot(s.m)); err != nil {
			t.Errorf("seed %d: %v", from+i, err)
		}
	}
	t.Logf("%d journals, %d records, %d steps", n, records, steps)
}

// testdata/regressions holds seeds that once broke a promise: "SEED what it was".
func TestRegressionsStayWhole(t *testing.T) {
	file, err := os.ReadFile("testdata/regressions.txt")
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(bytes.NewReader(file))
	for lines.Scan() {
		digits, what, _ := strings.Cut(lines.Text(), " ")
		seed, err := strconv.ParseUint(digits, 10, 64)
		if err != nil {
			continue // a comment
		}
		if v := (suite{}).run(t.Context(), seed, false); v.text != "" {
			t.Errorf("seed %d (%s): %s", seed, what, oneLine(v.text))
		}
	}
}

// compacted is JSON without the spaces that a file has for readers.
func compacted(data []byte) json.RawMessage {
	var b bytes.Buffer
	if json.Compact(&b, data) != nil {
		return data
	}
	return b.Bytes()
}

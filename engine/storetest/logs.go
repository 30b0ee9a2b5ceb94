package storetest

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/flowrun/flowrun/engine/quota"
	"github.com/flowrun/flowrun/engine/runs"
)

func line(step string, n int) runs.Log {
	return runs.Log{At: Begin(), Level: "info", Step: step, Message: fmt.Sprintf("line %d", n), Fields: json.RawMessage(`{"n":1}`)}
}

func logsComeBackInOrder(t *testing.T, b Backend) {
	s := b.fresh(t)
	Create(t, s, Row(1), 1)
	Create(t, s, Row(2), 2)
	var all, ofA []runs.Log
	for n := range 2200 {
		step := []string{"a", "b", "a[x/y].b"}[n%3]
		all = append(all, line(step, n))
		if step == "a" {
			ofA = append(ofA, line(step, n))
		}
		if n%100 == 99 {
			if err := Append(s, ID(1), nil, nil, all[n-99:]...); err != nil {
				t.Fatal(err)
			}
			if err := Append(s, ID(2), nil, nil, line("z", n)); err != nil {
				t.Fatal(err)
			}
		}
	}
	got, next, err := s.Logs(ID(1), "", 0, 0)
	if err != nil || next != 2201 {
		t.Errorf("next = %d, %v", next, err)
	}
	if diff := Diff(all, got); diff != "" {
		t.Errorf("all (-want +got):\n%.500s", diff)
	}
	got, _, err = s.Logs(ID(1), "a", 0, 0)
	if diff := Diff(ofA, got); diff != "" || err != nil {
		t.Errorf("one step: %v\n%.500s", err, diff)
	}
	var paged []runs.Log
	for next := uint64(0); ; {
		var part []runs.Log
		if part, next, err = s.Logs(ID(1), "a", next, 70); err != nil {
			t.Fatal(err)
		}
		if paged = append(paged, part...); len(part) < 70 {
			break
		}
	}
	if diff := Diff(ofA, paged); diff != "" {
		t.Errorf("pages (-want +got):\n%.500s", diff)
	}
}

func theLogOfAStepIsBounded(t *testing.T, b Backend) { // docs/reliability.md, "Limits"
	s := b.fresh(t)
	Create(t, s, Row(1), 1)
	long := line("flood", 0)
	long.Message = strings.Repeat("x", 1<<20)
	for range 20 {
		if err := Append(s, ID(1), nil, nil, long); err != nil {
			t.Fatal(err)
		}
	}
	deep := strings.Repeat("k", 5000)
	if err := Append(s, ID(1), nil, nil, line("quiet", 1), line(deep, 2)); err != nil {
		t.Fatal(err)
	}
	lines, _, err := s.Logs(ID(1), "flood", 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	if kept := quota.MaxStepLog / (1 << 20); len(lines) != kept {
		t.Errorf("%d lines, want %d and the count", len(lines), kept-1)
	}
	want := "5 lines dropped: the log of this step is over 16 MiB"
	if last := lines[len(lines)-1]; last.Message != want || last.Step != "flood" || last.Level != "warn" {
		t.Errorf("last line = %+v", last)
	}
	for _, step := range []string{"quiet", deep} {
		if lines, _, err := s.Logs(ID(1), step, 0, 0); err != nil || len(lines) != 1 {
			t.Errorf("other step: %d lines, %v", len(lines), err)
		}
	}
}

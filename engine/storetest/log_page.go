package storetest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/store"
)

// longLog is a run with lines of three steps, between two others that have some: as
// many, up to 2,500.
func longLog(t *testing.T, b Backend, lines int) (store.Store, []runs.Log) {
	t.Helper()
	s := b.fresh(t)
	var all []runs.Log
	for n := range 3 {
		Create(t, s, Row(n+1), n+1)
		count := min(lines, 2500)
		if n == 1 {
			count = lines
		}
		var batch []runs.Log
		for i := range count {
			batch = append(batch, line([]string{"a", "b", "a[x].b"}[i%3], i))
		}
		if err := Append(s, ID(n+1), nil, nil, batch...); err != nil {
			t.Fatal(err)
		}
		if n == 1 {
			all = batch
		}
	}
	return s, all
}

func aLogIsReadInPagesFromBothEnds(t *testing.T, b Backend) {
	s, all := longLog(t, b, 2500)
	ofA := slices.DeleteFunc(slices.Clone(all), func(l runs.Log) bool { return l.Step != "a" })
	onlyA := func(l *runs.Log) bool { return l.Step == "a" }
	for _, limit := range []int{1, 7, 500, 2499, 2500, 2501, 5000} {
		for _, match := range []func(*runs.Log) bool{nil, onlyA} {
			if limit == 1 && match == nil {
				continue // it takes its time and shows nothing more
			}
			want := all
			if match != nil {
				want = ofA
			}
			for _, back := range []bool{false, true} {
				t.Run(fmt.Sprintf("%d %v %v", limit, match != nil, back), func(t *testing.T) {
					var got []runs.Log
					for from, asked := uint64(0), 0; ; asked++ {
						page, err := s.LogPage(ID(2), store.LogQuery{From: from, Back: back, Limit: limit, Match: match})
						if err != nil || len(page.Lines) > limit || asked > len(all) {
							t.Fatalf("%d lines, %v", len(page.Lines), err)
						}
						if back {
							got = append(slices.Clone(page.Lines), got...)
						} else {
							got = append(got, page.Lines...)
						}
						if from = page.Next; from == 0 {
							break
						}
						if match == nil && len(page.Lines) != limit {
							t.Fatalf("a page of %d lines before the end", len(page.Lines))
						}
					}
					if diff := Diff(want, got); diff != "" {
						t.Errorf("(-want +got):\n%.600s", diff)
					}
				})
			}
		}
	}
	if page, err := s.LogPage(ID(2), store.LogQuery{Limit: 2500}); err != nil || page.Next != 0 {
		t.Errorf("the last line has others behind it: %d %v", page.Next, err)
	}
	if _, err := s.LogPage(ID(7), store.LogQuery{}); !errors.Is(err, store.ErrRunNotFound) {
		t.Errorf("a run that is not there: %v", err)
	}
	steps, err := s.LogSteps(ID(2), 100)
	if diff := Diff([]string{"a", "a[x].b", "b"}, steps); diff != "" || err != nil {
		t.Errorf("%v %s", err, diff)
	}
	if steps, err = s.LogSteps(ID(2), 2); err != nil || len(steps) != 2 {
		t.Errorf("%v %v", steps, err)
	}
}

func aSearchThatFindsLittleLooksAtSoMuchAtATime(t *testing.T, b Backend) {
	s, all := longLog(t, b, 45_000)
	for _, back := range []bool{false, true} {
		looked, asked := 0, 0
		for from := uint64(0); ; {
			before := looked
			page, err := s.LogPage(ID(2), store.LogQuery{From: from, Back: back, Limit: 10, Match: func(l *runs.Log) bool {
				looked++
				return l.Message == all[22_222].Message
			}})
			if err != nil {
				t.Fatal(err)
			}
			if looked-before > 20_000 {
				t.Fatalf("%d lines in one look", looked-before)
			}
			if asked += len(page.Lines); page.Next == 0 {
				break
			}
			from = page.Next
		}
		if looked != 45_000 || asked != 1 {
			t.Errorf("%d of %d lines, %d found", looked, len(all), asked)
		}
	}
}

func whatWasDroppedStandsAtTheEndOfEveryReading(t *testing.T, b Backend) {
	s := b.fresh(t)
	Create(t, s, Row(1), 1)
	big := strings.Repeat("x", 1<<20)
	for _, step := range []string{"flood", "other"} {
		for range 20 {
			if err := Append(s, ID(1), nil, nil, runs.Log{At: Begin(), Level: "info", Step: step, Message: big}); err != nil {
				t.Fatal(err)
			}
		}
	}
	whole, _, err := s.Logs(ID(1), "", 0, 0)
	if err != nil || len(whole) != 32 || !strings.Contains(whole[31].Message, "dropped") {
		t.Fatalf("%d lines, %v", len(whole), err)
	}
	for _, limit := range []int{1, 3, 31, 40} {
		for _, back := range []bool{false, true} {
			var got []string
			for from := uint64(0); ; {
				page, err := s.LogPage(ID(1), store.LogQuery{From: from, Back: back, Limit: limit})
				if err != nil || len(page.Lines) > limit || len(got) > 100 {
					t.Fatalf("%d lines, %v", len(page.Lines), err)
				}
				var part []string
				for _, l := range page.Lines {
					part = append(part, l.Step+l.Message[:1])
				}
				if back {
					got = append(part, got...)
				} else {
					got = append(got, part...)
				}
				if from = page.Next; from == 0 {
					break
				}
			}
			var want []string
			for _, l := range whole {
				want = append(want, l.Step+l.Message[:1])
			}
			if diff := Diff(want, got); diff != "" {
				t.Errorf("limit %d, back %v (-want +got):\n%s", limit, back, diff)
			}
		}
	}
}

package storetest

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/store"
)

// names that reach into one another's keys if they are only joined.
func hostileTriggers() [][2]string {
	return [][2]string{{"a", "b"}, {"a", "bc"}, {"ab", "c"}, {"a\x00", "b"}, {"a", "\x00b"}, {"a", "\x7f\x7f"}, {"", "b"}}
}

func firesAreListedAsAPlainListWouldBe(t *testing.T, b Backend) {
	s := b.fresh(t)
	random := rand.New(rand.NewPCG(b.Seed, 1))
	var all []runs.Fire
	for i, name := range hostileTriggers() {
		for range 200 {
			f := runs.Fire{
				Workflow: name[0], Trigger: name[1], Kind: plan.TriggerEvery, Skipped: runs.SkipLate,
				Slot: Begin().Add(time.Duration(random.IntN(300)-150) * time.Hour * 24 * 30).UTC(), At: Begin(),
			}
			if !slices.ContainsFunc(all, func(o runs.Fire) bool {
				return o.Workflow == f.Workflow && o.Trigger == f.Trigger && o.Slot.Equal(f.Slot)
			}) {
				all = append(all, f)
			}
		}
		if err := s.PutFires(all[slices.IndexFunc(all, func(f runs.Fire) bool { return f.Workflow == name[0] && f.Trigger == name[1] }):], name[0], name[1], nil); err != nil {
			t.Fatal(i, err)
		}
	}
	for range 100 {
		name := hostileTriggers()[random.IntN(len(hostileTriggers()))]
		filter := runs.FireFilter{Limit: 1 + random.IntN(40)}
		if random.IntN(3) > 0 {
			filter.Workflow = name[0]
		}
		if filter.Workflow != "" && random.IntN(2) > 0 {
			filter.Trigger = name[1]
		}
		if random.IntN(2) > 0 {
			filter.Since = Begin().Add(time.Duration(random.IntN(300)-150) * time.Hour * 24 * 30)
		}
		if random.IntN(2) > 0 {
			filter.Until = Begin().Add(time.Duration(random.IntN(300)-150) * time.Hour * 24 * 30)
		}
		want := plainList(all, filter)
		got := readFires(t, s, filter)
		if !slices.IsSortedFunc(got, func(a, b string) int { return cmp.Compare(slotOf(b), slotOf(a)) }) {
			t.Fatalf("seed %d, filter %+v: not the newest slot first: %v", b.Seed, filter, got)
		}
		slices.Sort(got) // fires of one slot come in any order
		if d := Diff(want, got); d != "" {
			t.Fatalf("seed %d, filter %+v (-want +got):\n%s", b.Seed, filter, d)
		}
	}
}

func readFires(t *testing.T, s store.Store, filter runs.FireFilter) []string {
	t.Helper()
	got := []string{}
	for {
		page, next, err := s.Fires(filter)
		if err != nil || len(page) > filter.Limit {
			t.Fatalf("%d fires, %v", len(page), err)
		}
		for _, f := range page {
			got = append(got, fireText(f))
		}
		if next == "" {
			return got
		}
		filter.Cursor = next
	}
}

func fireText(f runs.Fire) string {
	return fmt.Sprintf("%s %q %q", f.Slot.Format(time.RFC3339), f.Workflow, f.Trigger)
}

func slotOf(text string) string {
	slot, _, _ := strings.Cut(text, " ")
	return slot
}

func plainList(all []runs.Fire, filter runs.FireFilter) []string {
	chosen := slices.DeleteFunc(slices.Clone(all), func(f runs.Fire) bool {
		return filter.Workflow != "" && f.Workflow != filter.Workflow || filter.Trigger != "" && f.Trigger != filter.Trigger ||
			!filter.Since.IsZero() && f.Slot.Before(filter.Since) || !filter.Until.IsZero() && !f.Slot.Before(filter.Until)
	})
	got := []string{}
	for _, f := range chosen {
		got = append(got, fireText(f))
	}
	slices.Sort(got)
	return got
}

func aCursorOfFiresThatNobodyGaveIsRefused(t *testing.T, b Backend) {
	s := b.fresh(t)
	for _, cursor := range []string{"x", "!", "AAAA", "AAAAAAAAAAAAAAAB", ID(1)} {
		if _, _, err := s.Fires(runs.FireFilter{Cursor: cursor}); err == nil {
			t.Errorf("cursor %q is taken", cursor)
		}
	}
}

func firesBetweenIsOldestFirstAndBounded(t *testing.T, b Backend) {
	s := b.fresh(t)
	var rows []runs.Fire
	for n := range 1200 {
		rows = append(rows, Skipped("nightly", n, runs.SkipLate))
	}
	if err := s.PutFires(rows, "weekly", "nightly", nil); err != nil {
		t.Fatal(err)
	}
	got, err := s.FiresBetween("weekly", "nightly", Slot(3), Slot(1100), 0)
	if err != nil || len(got) != 1097 || !got[0].Slot.Equal(Slot(3)) || !got[1096].Slot.Equal(Slot(1099)) {
		t.Errorf("%d fires, %v", len(got), err)
	}
	if got, err = s.FiresBetween("weekly", "nightly", Slot(0), Slot(1100), 2); err != nil || len(got) != 2 {
		t.Errorf("%d fires, %v", len(got), err)
	}
	if got, err = s.FiresBetween("weekly", "night", time.Time{}, Slot(1100).AddDate(9999, 0, 0), 0); err != nil || len(got) != 0 {
		t.Errorf("another trigger: %d fires, %v", len(got), err)
	}
}

package storetest

import (
	"crypto/sha256"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/store"
)

// CreateScattered stores a run as the nth one, under an id whose ending is as good as
// random, as those of an engine are: Create's ids all end alike.
func CreateScattered(t testing.TB, s store.Store, run *runs.Run, n int) {
	t.Helper()
	var id ulid.ULID
	if err := id.SetTime(ulid.MustParse(ID(n)).Time()); err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256([]byte(strconv.Itoa(n)))
	if err := id.SetEntropy(sum[:10]); err != nil {
		t.Fatal(err)
	}
	run.ID = strings.ToLower(id.String())
	record := Started(n)
	record.Event.Start.RunID = run.ID
	if _, err := s.CreateRun(t.Context(), run, PlanBytes(), "", record); err != nil {
		t.Fatal(err)
	}
}

// runsAreFoundByTheLettersOfTheirIDs compares lists by a beginning and an ending with what
// all ids say, with and without the rest of a filter, page by page.
func runsAreFoundByTheLettersOfTheirIDs(t *testing.T, b Backend) {
	s := b.fresh(t)
	const count = 700
	var all []runs.Run
	for n := range count {
		run := Row(n)
		if n%3 == 0 {
			run.Workflow = "week"
		}
		if n%5 == 0 {
			run.Status = runs.RunFailed
		}
		CreateScattered(t, s, run, n)
		all = append(all, *run)
	}
	slices.Reverse(all)
	some := all[count/3].ID
	for _, filter := range []runs.Filter{
		{IDPrefix: some}, {IDSuffix: some}, {IDPrefix: some[:4]}, {IDPrefix: some[:8]}, {IDPrefix: some[:9]}, {IDPrefix: some[:11]},
		{IDSuffix: some[22:]}, {IDSuffix: some[24:]}, {IDSuffix: some[25:]}, {IDPrefix: some[:9], IDSuffix: some[25:]},
		{IDPrefix: some[:9], Workflow: "week"}, {IDSuffix: some[25:], Status: runs.RunFailed, Workflow: "weekly"},
		{IDPrefix: some[:8], Status: runs.RunFailed}, {IDPrefix: some[:8], Since: Begin().Add(400 * time.Second)},
		{IDPrefix: "7zzz"}, {IDPrefix: "0000"}, {IDSuffix: "zzzzzz"}, {IDPrefix: "0"}, {IDSuffix: strings.Repeat("z", 27)},
	} {
		var want []string
		for _, run := range all {
			since := filter.Since.IsZero() || !store.AcceptedAt(run.ID).Before(filter.Since)
			if filter.Selects(&run) && since {
				want = append(want, run.ID)
			}
		}
		for _, limit := range []int{0, 1, 7} {
			filter.Limit = limit
			if got := listed(t, s, filter); !slices.Equal(got, want) {
				t.Errorf("%+v: %d runs, want %d", filter, len(got), len(want))
			}
		}
	}
	for _, letters := range []string{"u", "01I", "8", "01K!", strings.Repeat("0", 27)} {
		if rows, _, err := s.Runs(runs.Filter{IDPrefix: letters}); err == nil && len(rows) > 0 {
			t.Errorf("%q is the beginning of %d runs", letters, len(rows))
		}
	}
}

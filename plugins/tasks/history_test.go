package tasks

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/flowrun/flowrun/internal/simkit"
	"github.com/flowrun/flowrun/sdk"
	"github.com/flowrun/flowrun/sdk/sdktest"
)

func TestT11_LedgerEntriesAreUnchanged(t *testing.T) {
	p, sim := open(t)
	items, _ := readAll(t, p, "usage_history", in{"limit": 200})
	kinds := map[any]bool{}
	for _, item := range items {
		e := item.(in)
		kinds[e["kind"]] = true
		if at, err := time.Parse(time.RFC3339, e["created_at"].(string)); err != nil || at.Location() != time.UTC || e["product"] != "automations" {
			t.Errorf("entry %v", e)
		}
	}
	if len(kinds) != 5 {
		t.Errorf("kinds %v", kinds)
	}
	if out := output(t, p.Call("usage_history", in{"product": "another"})); len(out["items"].([]any)) != 0 {
		t.Errorf("got %v", out)
	}
	answer(t, sim, simkit.Fault{Body: `{"list":[{"amount":-1.10,"created_at":7},{}]}`})
	if r := p.Call("usage_history", in{}); !strings.HasPrefix(string(r.Output), `{"items":[{"amount":-1.10,"created_at":7},{}],`) {
		t.Errorf("output %s %v", r.Output, r.Err)
	}
}

func TestT61_HistoryNewestFirst(t *testing.T) {
	refused(t, "usage_history", in{"limit": 0}, "/limit", "at least 1")
	refused(t, "usage_history", in{"limit": 201}, "/limit", "at most 200")
	p, sim := open(t)
	items, pages := readAll(t, p, "usage_history", in{})
	if pages < 5 {
		t.Errorf("%d pages", pages)
	}
	for i := 1; i < len(items); i++ {
		if items[i-1].(in)["created_at"].(string) < items[i].(in)["created_at"].(string) {
			t.Errorf("entry %d is older than the one behind it", i-1)
		}
	}
	if r := sim.Kit().Requests()[0]; r.Query != "" {
		t.Errorf("the first request asks for %s", r.Query)
	}
	output(t, p.Call("usage_history", in{"product": "automations", "limit": 200}))
	if got := sent(t, sim).Query; got != "limit=200&product=automations" {
		t.Errorf("sent %s", got)
	}
	if whole, _ := readAll(t, p, "usage_history", in{"limit": 200}); !cmp.Equal(whole, items) {
		t.Error("another limit gives another order")
	}
}

// mark reads the ledger as an incremental step does: the watermark of the last
// page that has one is kept.
func mark(t *testing.T, p *sdktest.Plugin, input in, old []byte) (items []any, next []byte, pages int) {
	t.Helper()
	next = old
	for cursor := ""; ; {
		r := p.Call("usage_history", input, sdktest.Page(cursor), sdktest.Watermark(old))
		items = append(items, output(t, r)["items"].([]any)...)
		pages++
		if len(r.Watermark) > 0 {
			next = r.Watermark
		}
		if cursor = r.Next; cursor == "" {
			return items, next, pages
		}
	}
}

func notes(items []any) []string {
	list := []string{}
	for _, item := range items {
		list = append(list, fmt.Sprint(item.(in)["note"]))
	}
	return list
}

func TestT62_OnlyWhatCameSince(t *testing.T) {
	p, sim := open(t)
	if !p.Action("usage_history").Incremental {
		t.Error("incremental is not declared")
	}
	all, first, pages := mark(t, p, in{}, nil)
	if len(all) < 250 || pages < 5 || len(first) == 0 {
		t.Fatalf("%d entries on %d pages, watermark %s", len(all), pages, first)
	}
	none, second, pages := mark(t, p, in{}, first)
	if len(none) != 0 || pages != 1 || string(second) != string(first) {
		t.Errorf("nothing new: %v on %d pages, watermark %s after %s", none, pages, second, first)
	}
	sim.AddRun(noon.Add(time.Minute), "one")
	sim.AddRun(noon.Add(time.Minute), "two") // of the same moment
	got, third, _ := mark(t, p, in{}, second)
	if diff := cmp.Diff([]string{"two", "one"}, notes(got)); diff != "" {
		t.Errorf("new entries (-want +got):\n%s", diff)
	}
	sim.AddRun(noon.Add(time.Minute), "three") // late, and still of that moment
	got, fourth, _ := mark(t, p, in{}, third)
	if diff := cmp.Diff([]string{"three"}, notes(got)); diff != "" {
		t.Errorf("a late one of the same moment (-want +got):\n%s", diff)
	}
	for i := range 120 { // more than two pages
		sim.AddRun(noon.Add(time.Hour+time.Duration(i)*time.Second), fmt.Sprint(i))
	}
	got, _, pages = mark(t, p, in{}, fourth)
	if len(got) != 120 || pages != 3 {
		t.Errorf("%d new entries on %d pages", len(got), pages)
	}
}

// entryAt is an entry of a test's own ledger.
func entryAt(at, id string) sdk.Value {
	return sdk.Value(fmt.Sprintf(`{"id":%q,"created_at":%q}`, id, at))
}

const (
	t1 = "2031-05-08T10:00:00Z"
	t2 = "2031-05-08T11:00:00Z"
	t3 = "2031-05-08T12:00:00Z"
)

func TestT62_WhereTheReadingEnds(t *testing.T) {
	a, b, c := entryAt(t1, "a"), entryAt(t2, "b"), entryAt(t2, "c")
	both := &watermark{Newest: t2, Entries: []string{entryDigest(b), entryDigest(c)}}
	one := &watermark{Newest: t2, Entries: []string{entryDigest(b)}}
	open := &watermark{Newest: t2, Entries: []string{entryDigest(b)}, Open: true}
	changed := sdk.Value(`{"id":"b","created_at":"` + t2 + `","settled":true}`)
	spaced := sdk.Value(`{ "created_at" : "` + t2 + `", "id":"b" }`)
	newer := entryAt(t3, "n")
	tests := map[string]struct {
		mark  *watermark
		page  []sdk.Value
		kept  []sdk.Value
		ended bool
	}{
		"no watermark":                     {nil, []sdk.Value{newer, b, a}, []sdk.Value{newer, b, a}, false},
		"an empty page":                    {both, []sdk.Value{}, []sdk.Value{}, false},
		"nothing new":                      {both, []sdk.Value{b, c, a}, []sdk.Value{}, true},
		"one is new":                       {both, []sdk.Value{newer, c, b, a}, []sdk.Value{newer}, true},
		"all are new":                      {both, []sdk.Value{newer, entryAt(t3, "m")}, []sdk.Value{newer, entryAt(t3, "m")}, false},
		"a late one of the moment, before": {one, []sdk.Value{c, b, a}, []sdk.Value{c}, true},
		"a late one of the moment, behind": {one, []sdk.Value{b, c, a}, []sdk.Value{c}, true},
		"it may have been on a later page": {open, []sdk.Value{b, c, a}, []sdk.Value{}, true},
		"written otherwise, the same":      {one, []sdk.Value{spaced, a}, []sdk.Value{}, true},
		"changed since: new, and the end":  {one, []sdk.Value{changed, a}, []sdk.Value{changed}, true},
		"fields that can't be read":        {one, []sdk.Value{sdk.Value(`{"created_at":7}`), sdk.Value(`7`), b}, []sdk.Value{sdk.Value(`{"created_at":7}`), sdk.Value(`7`)}, true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			kept, ended := tt.mark.fresh(tt.page)
			if diff := cmp.Diff(tt.kept, kept); diff != "" || ended != tt.ended {
				t.Errorf("ended %v, kept (-want +got):\n%s", ended, diff)
			}
		})
	}
}

func TestT62_NextWatermark(t *testing.T) {
	a, b, c := entryAt(t1, "a"), entryAt(t2, "b"), entryAt(t2, "c")
	old := &watermark{Newest: t2, Entries: []string{entryDigest(b)}}
	tests := map[string]struct {
		old  *watermark
		page []sdk.Value
		more bool
		want *watermark
	}{
		"the first reading":      {nil, []sdk.Value{c, b, a}, true, &watermark{Newest: t2, Entries: []string{entryDigest(c), entryDigest(b)}}},
		"a page of one moment":   {nil, []sdk.Value{c, b}, true, &watermark{Newest: t2, Entries: []string{entryDigest(c), entryDigest(b)}, Open: true}},
		"and it was the last":    {nil, []sdk.Value{c, b}, false, &watermark{Newest: t2, Entries: []string{entryDigest(c), entryDigest(b)}}},
		"an empty ledger":        {old, nil, false, nil},
		"a newer moment":         {old, []sdk.Value{entryAt(t3, "n"), b}, true, &watermark{Newest: t3, Entries: []string{entryDigest(entryAt(t3, "n"))}}},
		"the same moment":        {old, []sdk.Value{c, a}, true, &watermark{Newest: t2, Entries: []string{entryDigest(c), entryDigest(b)}}},
		"more of it behind":      {old, []sdk.Value{c}, true, &watermark{Newest: t2, Entries: []string{entryDigest(c), entryDigest(b)}, Open: true}},
		"entries without a time": {nil, []sdk.Value{sdk.Value(`{}`), a}, false, &watermark{Entries: []string{entryDigest(sdk.Value(`{}`))}}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, tt.old.next(tt.page, tt.more)); diff != "" {
				t.Errorf("watermark (-want +got):\n%s", diff)
			}
		})
	}
}

func TestT62_WatermarkOfTheFirstPageOnly(t *testing.T) {
	p, _ := open(t)
	first := p.Call("usage_history", in{})
	if len(first.Watermark) == 0 {
		t.Error("the first page sets none")
	}
	if r := p.Call("usage_history", in{}, sdktest.Page(first.Next)); len(r.Watermark) != 0 || r.Err != nil {
		t.Errorf("the second page sets %s", r.Watermark)
	}
	// a reading that the user begins in the middle says nothing of the newest
	if r := p.Call("usage_history", in{"cursor": first.Next}); len(r.Watermark) != 0 || r.Err != nil {
		t.Errorf("a reading from the middle sets %s", r.Watermark)
	}
}

func TestT62_UnreadableWatermark(t *testing.T) {
	for _, raw := range []string{"nonsense", "{}", `{"newest":7,"entries":["a"]}`} {
		p, sim := open(t)
		r := p.Call("usage_history", in{}, sdktest.Watermark([]byte(raw)))
		if r.Err == nil || r.Err.Code != sdk.CodeInvalid || r.Err.Applied != sdk.NotApplied || sim.Kit().Count("") != 0 {
			t.Errorf("%s: %+v", raw, r.Err)
		}
	}
}

// TestT62_NoEntryIsLostOrGivenTwice reads a growing ledger over and over.
func TestT62_NoEntryIsLostOrGivenTwice(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var ledger []sdk.Value // newest first
		var stored []byte
		clock, serial, given := noon, 0, map[string]int{}
		for range rapid.IntRange(1, 6).Draw(t, "readings") {
			for range rapid.IntRange(0, 7).Draw(t, "new entries") {
				clock = clock.Add(time.Duration(rapid.IntRange(0, 1).Draw(t, "seconds on")) * time.Second)
				serial++
				ledger = append([]sdk.Value{entryAt(clock.Format(time.RFC3339), fmt.Sprint(serial))}, ledger...)
			}
			old, err := readWatermark(stored)
			if err != nil {
				t.Fatal(err)
			}
			size := rapid.IntRange(1, 5).Draw(t, "page size")
			for at := 0; at == 0 || at < len(ledger); at += size {
				page := ledger[min(at, len(ledger)):min(at+size, len(ledger))]
				if at == 0 {
					if encoded := old.next(page, size < len(ledger)).encode(); encoded != nil {
						stored = encoded
					}
				}
				kept, ended := old.fresh(page)
				for _, e := range kept {
					given[string(e)]++
				}
				if ended {
					break
				}
			}
		}
		if len(given) != len(ledger) {
			t.Fatalf("%d of %d entries were given", len(given), len(ledger))
		}
		for e, n := range given {
			if n != 1 {
				t.Fatalf("%s was given %d times", e, n)
			}
		}
	})
}

func TestT62_DigestIsOfTheWholeEntry(t *testing.T) {
	same := []string{`{"a":1.10,"b":[null]}`, "{ \"b\" : [ null ],\n\"a\":1.10}"}
	others := []string{`{"a":1.1,"b":[null]}`, `{"a":1.10,"b":[]}`, `{"a":1.10}`, `{"a":"1.10","b":[null]}`, `{"a":9007199254740993}`, `{"a":9007199254740992}`}
	seen := map[string]string{}
	for _, text := range append(others, same[0]) {
		digest := entryDigest(json.RawMessage(text))
		if before, twice := seen[digest]; twice {
			t.Errorf("%s and %s have one digest", before, text)
		}
		seen[digest] = text
	}
	if entryDigest(json.RawMessage(same[0])) != entryDigest(json.RawMessage(same[1])) {
		t.Error("whitespace or the order of members makes another digest")
	}
}

func TestT62_StopDropsTheCursor(t *testing.T) {
	p, sim := open(t)
	_, stored, _ := mark(t, p, in{}, nil)
	answerWith := sim.Kit().Count("")
	r := p.Call("usage_history", in{}, sdktest.Watermark(stored))
	out := output(t, r)
	page := out["page"].(in)
	if r.Next != "" || out["next_cursor"] != nil || page["next_cursor"] == nil || sim.Kit().Count("") != answerWith+1 {
		t.Errorf("next %q, output %v", r.Next, out["next_cursor"])
	}
	answer(t, sim, simkit.Fault{Status: 500})
	if r := p.Call("usage_history", in{}, sdktest.Watermark(stored)); len(r.Watermark) != 0 {
		t.Error("a failed page moves the watermark")
	}
}

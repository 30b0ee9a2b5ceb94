package taskssim

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/flowrun/flowrun/internal/simkit"
)

// entry is one row of the ledger. Only created_at, the kinds' names, product and
// category are documented (T-11); amounts are decimals as text keeps them.
type entry struct {
	ID        int64       `json:"id"`
	CreatedAt string      `json:"created_at"`
	Kind      string      `json:"kind"`
	Product   string      `json:"product"`
	Category  string      `json:"category"`
	Amount    json.Number `json:"amount"`
	Note      string      `json:"note"`

	at    time.Time
	cents int
}

const (
	settled    = "settled_usage"
	automation = "automations"
)

var runCategories = []string{"automation_run", "automation_run", "automation_run", "ai_step"}

// addLedger writes the movements of the balance up to now, newest first: runs of
// automations on most days, some of them at the same moment, a grant a month, and
// the three ways in which a grant is taken back.
func (w *world) addLedger() {
	today := w.now.Truncate(24 * time.Hour)
	for ago := historyDays; ago >= 0; ago-- {
		day := today.AddDate(0, 0, -ago)
		if day.Day() == 1 {
			w.move(day.Add(time.Minute), "grant", "plan", 1500, "monthly grant")
		}
		rnd := simkit.SeedOf("ledger " + day.Format(time.DateOnly))
		for i := range 1 + rnd.Below(3) {
			at := day.Add(2*time.Hour + time.Duration(i/2*35)*time.Minute) // the first two are of one moment
			w.move(at, settled, simkit.Pick(rnd, runCategories), -(5 + rnd.Below(60)), fmt.Sprintf("run %s-%d", day.Format("0102"), i))
		}
		switch ago {
		case 150:
			w.move(day.Add(9*time.Hour), "void", "plan", -300, "grant voided")
		case 90:
			w.move(day.Add(9*time.Hour), "expiry", "plan", -450, "grant expired")
		case 40:
			w.move(day.Add(9*time.Hour), "chargeback", "plan", -1000, "payment charged back")
		}
	}
	slices.SortStableFunc(w.ledger, func(a, b entry) int { return b.at.Compare(a.at) })
}

func (w *world) move(at time.Time, kind, category string, cents int, note string) {
	if at.After(w.now) {
		return
	}
	w.serial++
	w.ledger = append(w.ledger, newEntry(at, kind, category, cents, note))
}

func newEntry(at time.Time, kind, category string, cents int, note string) entry {
	return entry{
		ID: bigID("entry " + at.Format(time.RFC3339) + note), CreatedAt: stamp(at), Kind: kind, Product: automation, Category: category,
		Amount: decimal(cents), Note: note, at: at, cents: cents,
	}
}

// decimal writes cents as units with two digits: 1.10 stays 1.10.
func decimal(cents int) json.Number {
	sign := ""
	if cents < 0 {
		sign, cents = "-", -cents
	}
	return json.Number(fmt.Sprintf("%s%d.%02d", sign, cents/100, cents%100))
}

// AddRun adds a settled run to the ledger, as if an automation had run at that
// moment. It becomes the newest entry.
func (s *Sim) AddRun(at time.Time, note string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.world.ledger = append([]entry{newEntry(at, settled, "automation_run", -25, note)}, s.world.ledger...)
}

// product reads the product of E13 and E14.
func product(r *http.Request) string {
	if text := r.URL.Query().Get("product"); text != "" {
		return text
	}
	return automation
}

func (s *Sim) ledgerOf(product string) []entry {
	s.mu.Lock()
	all := s.world.ledger
	s.mu.Unlock()
	entries := []entry{}
	for _, e := range all {
		if e.Product == product {
			entries = append(entries, e)
		}
	}
	return entries
}

// usageHistory answers E14.
func (s *Sim) usageHistory(r *http.Request) (any, *refusal) {
	limit, refused := number(r, "limit", 50, 1, 200)
	if refused != nil {
		return nil, refused
	}
	return pageOf(s, r, "entries", s.ledgerOf(product(r)), limit)
}

// usageSummary answers E13: settled usage alone (T-56).
func (s *Sim) usageSummary(r *http.Request) (any, *refusal) {
	query := r.URL.Query()
	since, refused := moment(r, "since", time.Time{})
	until, refusedUntil := moment(r, "until", s.now())
	refused = cmp.Or(refused, refusedUntil)
	if query.Has("category") && query.Get("category") == "" {
		refused = badRequest("category must not be empty")
	}
	if refused != nil {
		return nil, refused
	}
	runs, cents := 0, 0
	for _, e := range s.ledgerOf(product(r)) {
		if e.Kind == settled && equals(query.Get("category"), e.Category) && !e.at.Before(since) && e.at.Before(until) {
			runs, cents = runs+1, cents-e.cents
		}
	}
	return map[string]any{"product": product(r), "run_count": runs, "cost": decimal(cents)}, nil
}

// moment reads a date-time; one without an offset is UTC (T-58).
func moment(r *http.Request, name string, fallback time.Time) (time.Time, *refusal) {
	text := r.URL.Query().Get(name)
	if !r.URL.Query().Has(name) {
		return fallback, nil
	}
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05"} {
		if at, err := time.ParseInLocation(layout, text, time.UTC); err == nil {
			return at, nil
		}
	}
	return fallback, badRequest(name + " must be a date-time")
}

// topUp answers E12. Neither its body nor its answer is documented.
func (s *Sim) topUp(_ *http.Request) (any, *refusal) {
	if s.options.NoSubscription {
		return nil, forbidden("A personal payment customer and an active personal paid subscription are required.")
	}
	s.mu.Lock()
	s.world.serial++
	session := "cs_" + strconv.Itoa(s.world.serial)
	s.mu.Unlock()
	return map[string]string{"session_id": session, "checkout_url": "https://checkout.example/pay/" + session}, nil
}

// migrate answers E11. Neither its body nor its answer is documented. The new
// token is good from then on.
func (s *Sim) migrate(r *http.Request) (any, *refusal) {
	body, refused := object(r)
	if refused == nil && len(texts(body)) == 0 {
		refused = badRequest("The body holds no personal token.")
	}
	if refused != nil {
		return nil, refused
	}
	s.mu.Lock()
	s.world.serial++
	token := "oauth-" + textID("token "+strconv.Itoa(s.world.serial))
	s.world.tokens[token] = true
	s.mu.Unlock()
	return map[string]any{"access_token": token, "token_type": "Bearer", "expires_in": 315360000}, nil
}

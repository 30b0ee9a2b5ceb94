package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/flowrun/flowrun/bench/figures"
)

// lists is S6.
func lists(ctx context.Context, b *bench) error {
	for _, count := range []int{b.size(10_000, 100), b.size(100_000, 300)} {
		if err := b.listsOf(ctx, count); err != nil {
			return err
		}
	}
	return nil
}

func (b *bench) listsOf(ctx context.Context, count int) error {
	stored, err := b.storeOf(ctx, count)
	if err != nil {
		return err
	}
	list := func() (figures.Sample, error) {
		return b.command(ctx, stored.dir, b.flowrun, "runs", "list", "--limit", "50", "-o", "json", "--state", "state")
	}
	name := storeName(b, count)
	if err := b.inTurnsOf(2*b.repeat, turn{scenario: "S6", variant: "command that owns the store, " + name, measure: list}); err != nil {
		return err
	}
	s, err := b.serve(ctx, stored.dir)
	if err != nil {
		return err
	}
	err = s.logIn(ctx, b, stored.dir)
	if err == nil {
		err = b.inTurnsOf(2*b.repeat,
			turn{scenario: "S6", variant: "command beside a server, " + name, measure: list},
			turn{scenario: "S6", variant: "API, " + name, measure: func() (figures.Sample, error) { return s.listed(ctx) }},
		)
	}
	return errors.Join(err, s.stop())
}

// requests is how often a list is asked for: what is measured is the middle one.
const requests = 15

func (s *server) listed(ctx context.Context) (figures.Sample, error) {
	var took []time.Duration
	for range requests {
		begun := time.Now()
		text, err := s.get(ctx, "/runs?limit=50")
		took = append(took, time.Since(begun))
		if err != nil {
			return figures.Sample{}, err
		}
		var page struct {
			Items []json.RawMessage `json:"items"`
		}
		if err := json.Unmarshal(text, &page); err != nil || len(page.Items) != 50 {
			return figures.Sample{}, fmt.Errorf("a list has %d runs, not 50: %w", len(page.Items), err)
		}
	}
	return figures.Sample{Units: 1, Unit: "request", Wall: figures.Median(took)}, nil
}

package web

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/flowrun/flowrun/engine"
	"github.com/flowrun/flowrun/engine/fault"
	"github.com/flowrun/flowrun/engine/services"
)

// fakeUpkeep is a store with one run. breakAt > 0 lets its export fail after so
// many lines.
type fakeUpkeep struct {
	err     error
	breakAt int
	backups []engine.BackupRequest
	removed []engine.RemoveRequest
}

func (f *fakeUpkeep) Backup(_ context.Context, r engine.BackupRequest) (*engine.BackupReport, error) {
	f.backups = append(f.backups, r)
	return &engine.BackupReport{Path: r.Path}, f.err
}

func (f *fakeUpkeep) DBOwners(_ context.Context, by string) ([]engine.DBOwner, error) {
	return []engine.DBOwner{{Name: "of " + by, Bytes: 7}}, f.err
}

func (f *fakeUpkeep) DBStats(context.Context) (*engine.DBStats, error) {
	return &engine.DBStats{Schema: 7}, f.err
}

func (f *fakeUpkeep) CheckKey(context.Context) (*services.KeyReport, error) {
	return &services.KeyReport{Values: 3}, f.err
}

func (f *fakeUpkeep) RotateKey(context.Context) (*services.KeyRotation, error) {
	return &services.KeyRotation{Values: 3}, f.err
}

func (f *fakeUpkeep) RemoveRun(_ context.Context, id string, r engine.RemoveRequest) (*engine.Removal, error) {
	f.removed = append(f.removed, r)
	return &engine.Removal{Removed: []string{id}}, f.err
}

func (f *fakeUpkeep) ExportRun(_ context.Context, id string, emit func(engine.ExportLine) error) error {
	if f.err != nil && f.breakAt == 0 {
		return f.err
	}
	for n, kind := range []string{engine.ExportHead, engine.ExportRunRow, engine.ExportEnd} {
		if f.breakAt > 0 && n == f.breakAt {
			return f.err
		}
		if err := emit(engine.ExportLine{Type: kind, Run: id, Data: json.RawMessage(`{"a":"<&>"}`)}); err != nil {
			return err
		}
	}
	return nil
}

func upkeepClient(f *fakeUpkeep) *Client {
	return NewClient(InProcess(NewSocketHandler(Options{Upkeep: f, Gate: NewGate()})))
}

func TestTheStoreIsLookedAfterThroughTheAPI(t *testing.T) {
	fake := &fakeUpkeep{}
	c, ctx := upkeepClient(fake), t.Context()
	if report, err := c.Backup(ctx, engine.BackupRequest{Path: "/b/x.db", Temporary: true}); err != nil || report.Path != "/b/x.db" || !fake.backups[0].Temporary {
		t.Errorf("backup: %+v %v", report, err)
	}
	if owners, err := c.DBOwners(ctx, "plugin"); err != nil || len(owners) != 1 || owners[0].Name != "of plugin" {
		t.Errorf("owners %+v: %v", owners, err)
	}
	if stats, err := c.DBStats(ctx); err != nil || stats.Schema != 7 {
		t.Errorf("stats: %+v %v", stats, err)
	}
	if report, err := c.CheckKey(ctx); err != nil || report.Values != 3 {
		t.Errorf("key: %+v %v", report, err)
	}
	if rotation, err := c.RotateKey(ctx); err != nil || rotation.Values != 3 {
		t.Errorf("rotate: %+v %v", rotation, err)
	}
	if removal, err := c.RemoveRun(ctx, knownRun, engine.RemoveRequest{Paused: true, By: "ann"}); err != nil || len(removal.Removed) != 1 || !fake.removed[0].Paused {
		t.Errorf("remove: %+v %v", removal, err)
	}
	var lines []engine.ExportLine
	if err := c.ExportRun(ctx, knownRun, func(line engine.ExportLine) error { lines = append(lines, line); return nil }); err != nil || len(lines) != 3 ||
		string(lines[1].Data) != `{"a":"<&>"}` {
		t.Errorf("export: %+v %v", lines, err)
	}
}

func TestRefusalsOfTheStoreReachTheClient(t *testing.T) {
	ctx := t.Context()
	full := &fault.StoreError{Fault: fault.StoreFull, Path: "x", Err: errors.New("no room"), Hint: "make some"}
	_, err := upkeepClient(&fakeUpkeep{err: full}).Backup(ctx, engine.BackupRequest{})
	var problem *Problem
	if !errors.As(err, &problem) || problem.Code != CodeStoreFull || problem.Hint != "make some" {
		t.Errorf("full: %+v", err)
	}
	gone := &engine.RunNotFoundError{ID: knownRun, Hint: "it is too old"}
	for name, err := range map[string]error{
		"export": upkeepClient(&fakeUpkeep{err: gone}).ExportRun(ctx, knownRun, func(engine.ExportLine) error { return nil }),
		"export after its first line": upkeepClient(&fakeUpkeep{err: fmt.Errorf("wrapped: %w", gone), breakAt: 1}).ExportRun(ctx, knownRun, func(engine.ExportLine) error {
			return nil
		}),
	} {
		if !errors.As(err, &problem) || problem.Code != CodeNotFound || problem.Hint != "it is too old" || !strings.Contains(problem.Detail, knownRun) {
			t.Errorf("%s: %+v", name, err)
		}
	}
}

package web

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/fault"
	"github.com/flowrun/flowrun/engine/services"
	"github.com/flowrun/flowrun/engine/upkeep"
	"github.com/flowrun/flowrun/internal/web/wire"
)

// fakeUpkeep is a store with one run. breakAt > 0 lets its export fail after so
// many lines.
type fakeUpkeep struct {
	err     error
	breakAt int
	backups []upkeep.BackupRequest
	removed []upkeep.RemoveRequest
}

func (f *fakeUpkeep) Backup(_ context.Context, r upkeep.BackupRequest) (*upkeep.BackupReport, error) {
	f.backups = append(f.backups, r)
	return &upkeep.BackupReport{Path: r.Path}, f.err
}

func (f *fakeUpkeep) DBOwners(_ context.Context, by string) ([]upkeep.DBOwner, error) {
	return []upkeep.DBOwner{{Name: "of " + by, Bytes: 7}}, f.err
}

func (f *fakeUpkeep) DBStats(context.Context) (*upkeep.DBStats, error) {
	return &upkeep.DBStats{Schema: 7}, f.err
}

func (f *fakeUpkeep) CheckKey(context.Context) (*services.KeyReport, error) {
	return &services.KeyReport{Values: 3}, f.err
}

func (f *fakeUpkeep) RotateKey(context.Context) (*services.KeyRotation, error) {
	return &services.KeyRotation{Values: 3}, f.err
}

func (f *fakeUpkeep) RemoveRun(_ context.Context, id string, r upkeep.RemoveRequest) (*upkeep.Removal, error) {
	f.removed = append(f.removed, r)
	return &upkeep.Removal{Removed: []string{id}}, f.err
}

func (f *fakeUpkeep) ExportRun(_ context.Context, id string, emit func(upkeep.ExportLine) error) error {
	if f.err != nil && f.breakAt == 0 {
		return f.err
	}
	for n, kind := range []string{upkeep.ExportHead, upkeep.ExportRunRow, upkeep.ExportEnd} {
		if f.breakAt > 0 && n == f.breakAt {
			return f.err
		}
		if err := emit(upkeep.ExportLine{Type: kind, Run: id, Data: json.RawMessage(`{"a":"<&>"}`)}); err != nil {
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
	if report, err := c.Backup(ctx, upkeep.BackupRequest{Path: "/b/x.db", Temporary: true}); err != nil || report.Path != "/b/x.db" || !fake.backups[0].Temporary {
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
	if removal, err := c.RemoveRun(ctx, knownRun, upkeep.RemoveRequest{Paused: true, By: "ann"}); err != nil || len(removal.Removed) != 1 || !fake.removed[0].Paused {
		t.Errorf("remove: %+v %v", removal, err)
	}
	var lines []upkeep.ExportLine
	if err := c.ExportRun(ctx, knownRun, func(line upkeep.ExportLine) error { lines = append(lines, line); return nil }); err != nil || len(lines) != 3 ||
		string(lines[1].Data) != `{"a":"<&>"}` {
		t.Errorf("export: %+v %v", lines, err)
	}
}

func TestRefusalsOfTheStoreReachTheClient(t *testing.T) {
	ctx := t.Context()
	full := &fault.StoreError{Fault: fault.StoreFull, Path: "x", Err: errors.New("no room"), Hint: diag.Say("make some")}
	_, err := upkeepClient(&fakeUpkeep{err: full}).Backup(ctx, upkeep.BackupRequest{})
	var problem *Problem
	if !errors.As(err, &problem) || problem.Code != wire.CodeStoreFull || problem.Hint.Text != "make some" {
		t.Errorf("full: %+v", err)
	}
	gone := &upkeep.RunNotFoundError{ID: knownRun, Hint: diag.Say("it is too old")}
	for name, err := range map[string]error{
		"export": upkeepClient(&fakeUpkeep{err: gone}).ExportRun(ctx, knownRun, func(upkeep.ExportLine) error { return nil }),
		"export after its first line": upkeepClient(&fakeUpkeep{err: fmt.Errorf("wrapped: %w", gone), breakAt: 1}).ExportRun(ctx, knownRun, func(upkeep.ExportLine) error {
			return nil
		}),
	} {
		if !errors.As(err, &problem) || problem.Code != wire.CodeNotFound || problem.Hint.Text != "it is too old" || !strings.Contains(problem.Detail, knownRun) {
			t.Errorf("%s: %+v", name, err)
		}
	}
}

package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/flowrun/flowrun/engine"
	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/upkeep"
	"github.com/flowrun/flowrun/engine/workspace"
	"github.com/flowrun/flowrun/internal/cli/view"
	"github.com/flowrun/flowrun/internal/web"
	"github.com/flowrun/flowrun/internal/web/wire"
)

func (a *app) checkDB(ctx context.Context, file string) error {
	at, err := a.locate()
	if err != nil {
		return err
	}
	path := storePath(at)
	if file != "" {
		path = a.abs(file)
	}
	switch {
	case exists(path):
	case file != "":
		return notFoundError(fmt.Errorf("there is no file %s", safePath(path)), "")
	default:
		return a.noDB(errNoStore)
	}
	var copied bool
	report, err := long(ctx, a, "checking "+a.shown(path), func(ctx context.Context) (report *upkeep.CheckReport, err error) {
		report, copied, err = a.checkFile(ctx, at, path)
		return report, err
	})
	err = a.tell(report, err, func() {
		report.Path = a.shown(report.Path)
		a.page(a.sys.Stdout).CheckReport(a.sys.Stdout, report)
		if copied {
			a.note("a process owns the store: a copy that it made now was checked")
		}
		if report.Kernel != "" {
			a.note("%s", report.Kernel)
		}
		a.afterCheck(report, file)
	})
	if err == nil && len(report.Problems) > 0 {
		return exitWith(exitStoreCorrupt)
	}
	return err
}

// afterCheck suggests what to do about a damaged store.
func (a *app) afterCheck(report *upkeep.CheckReport, file string) {
	switch {
	case len(report.Problems) == 0:
	case file != "":
		a.note("do not restore it: take another backup")
	case report.Backup != nil:
		a.note("the newest good backup is of %s", a.times.Full(report.Backup.At))
		a.next("put it in the store's place (the damaged file is kept):", "db", "restore", a.shown(report.Backup.Path))
	default:
		a.note("there is no good backup in the state folder; `%s` puts one back from elsewhere", a.commandText("db", "restore", "FILE"))
	}
}

// checkFile checks a file, or a copy that its owner makes.
func (a *app) checkFile(ctx context.Context, at place, path string) (report *upkeep.CheckReport, copied bool, err error) {
	_, client, err := a.alone(ctx, at, func(config workspace.Config) (err error) {
		report, err = engine.CheckStore(ctx, config, path)
		return err
	})
	if err != nil || client == nil {
		return report, false, err
	}
	copyPath := filepath.Join(at.stateDir, fmt.Sprintf("check-%d.db", a.sys.PID))
	backup, err := client.Backup(ctx, upkeep.BackupRequest{Path: copyPath, Temporary: true})
	if err != nil {
		return nil, false, damagedLive(err)
	}
	defer func() {
		err = errors.Join(err, upkeep.RemoveBackup(backup.Path))
	}()
	report, err = engine.CheckStore(ctx, a.engineConfig(at), backup.Path)
	if report != nil {
		report.Path = path
	}
	return report, true, err
}

// damagedLive is the refusal of an owner to copy its damaged store.
func damagedLive(err error) error {
	var problem *web.Problem
	if !errors.As(err, &problem) || problem.Code != wire.CodeStoreCorrupt || problem.Hint.Text == "" {
		return err
	}
	return &codedError{code: exitStoreCorrupt, err: err, hint: "stop the process that owns the store; then `flowrun db check` lists all damage"}
}

func (a *app) restoreDB(ctx context.Context, file string) error {
	at, err := a.locate()
	if err != nil {
		return err
	}
	backup := a.abs(file)
	if info, err := os.Stat(backup); err != nil || info.IsDir() {
		return notFoundError(fmt.Errorf("there is no backup %s", safePath(file)), "")
	}
	report, err := longAlone(ctx, a, at, "checking and restoring "+file, "nothing is restored", func(ctx context.Context, config workspace.Config) (*upkeep.RestoreReport, error) {
		return engine.RestoreStore(ctx, config, backup)
	})
	return a.tell(report, err, func() {
		a.say("restored %s", a.shown(report.Path))
		a.restoreNotes(report)
	})
}

// longAlone does what takes long and wants a store that nobody has open; refused
// says what is not done where somebody has.
func longAlone[T any](ctx context.Context, a *app, at place, what, refused string, work func(context.Context, workspace.Config) (T, error)) (T, error) {
	return long(ctx, a, what, func(ctx context.Context) (report T, err error) {
		owner, _, err := a.alone(ctx, at, func(config workspace.Config) (err error) {
			report, err = work(ctx, config)
			return err
		})
		if err == nil && owner != nil {
			err = a.busyError(at, owner, refused)
		}
		return report, err
	})
}

func (a *app) restoreNotes(report *upkeep.RestoreReport) {
	if report.SavedAt != nil {
		a.note("it is as it was at %s", a.times.Full(*report.SavedAt))
	}
	if report.Old != "" {
		a.note("the store that was there is kept: %s", a.shown(report.Old))
	}
	if !report.Sum {
		a.note("there was no .sha256 beside the backup; its own checksums were enough")
	}
	if report.Lost > 0 {
		a.note("%s of %d can't be opened: put the key file of that store at %s (mode 0600)", diag.Count(report.Lost, "sealed value"), report.Sealed, a.shown(report.KeyFile))
	}
	switch {
	case report.Lost > 0:
		a.next("then look whether it fits:", "key", "check")
	case report.Parked > 0:
		a.note("%s had not ended: paused, since what happened after the backup is not known", diag.Count(report.Parked, "run"))
		a.next("look at them, then resume or cancel each:", "runs", "list", "--status", "paused")
	default:
		a.next("see what there is:", "runs")
	}
}

func (a *app) compactDB(ctx context.Context) error {
	at, err := a.locate()
	if err != nil {
		return err
	}
	if !exists(storePath(at)) {
		return a.noDB(errNoStore)
	}
	report, err := longAlone(ctx, a, at, "compacting "+a.shown(storePath(at)), "nothing is compacted", engine.CompactStore)
	return a.tell(report, err, func() {
		a.say("compacted %s: %s, before %s", a.shown(report.Path), view.Size(report.After), view.Size(report.Before))
	})
}

package doctor

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"github.com/flowrun/flowrun/engine"
	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/workspace"
)

// backupAge is how old the last backup may be before it is warned of.
const backupAge = 7 * 24 * time.Hour

// checkStore reads the store file whole where nobody has it open.
func (e *examination) checkStore(ctx context.Context, check string) {
	path := filepath.Join(e.Config.StateDir, workspace.StoreFile)
	if !exists(path) {
		e.ok(check, "", "nothing has run here yet")
		return
	}
	if e.owner != nil {
		e.skip(check, "", "its owner has it open; `"+e.Words.Command("db", "check")+"` checks a copy")
		e.open(ctx)
		return
	}
	report, err := engine.CheckStore(ctx, e.Config, path)
	switch {
	case err != nil:
		e.failWith(check, "", err)
	case len(report.Problems) > 0:
		hint := diag.Sayf("%s lists them; %s puts a backup in its place", diag.Command{"db", "check"}, diag.Command{"db", "restore", "FILE"})
		if report.Backup != nil {
			hint = diag.Sayf("put the newest good backup in its place (the damaged file is kept): %s", diag.Command{"db", "restore", e.Words.Path(report.Backup.Path)})
		}
		detail := fmt.Sprintf("%s is damaged: %s", e.Words.Path(path), diag.Count(len(report.Problems)+report.More, "problem"))
		e.add(Finding{Check: check, Status: Fail, Cause: StoreCorrupt, Detail: detail, Hint: hint})
	default:
		e.ok(check, "", "%s is whole: %s, %s", e.Words.Path(path), diag.Count(report.Runs, "run"), e.Words.Size(report.Bytes))
		e.open(ctx)
	}
}

// open takes or reaches the store, which the later checks ask.
func (e *examination) open(ctx context.Context) {
	store, err := e.Connect(ctx)
	if err != nil {
		e.failWith("store", "", err)
		return
	}
	e.store = store
}

// checkContents looks at what the store says of itself.
func (e *examination) checkContents(ctx context.Context, check string) {
	stats, err := e.store.DBStats(ctx)
	if err != nil {
		e.failWith("store", "", err)
		return
	}
	if stats.Pressure != "" {
		e.fail(check, "", StoreFull, "no run is accepted: "+stats.Pressure, "free the disk, shorten `retention`, or %s when nothing runs", diag.Command{"db", "compact"})
	} else if stats.MaxBytes > 0 && stats.UsedBytes > stats.MaxBytes/2 {
		e.warn(check, "", fmt.Sprintf("the store holds %s of at most %s", e.Words.Size(stats.UsedBytes), e.Words.Size(stats.MaxBytes)), "shorten `retention` in "+projectFileName)
	}
	for _, cut := range stats.Cut {
		e.warn("history", "", fmt.Sprintf("the history of %s is cut: runs up to %s are gone, though `retention.keep` is %s", cut.Workflow, cut.UpTo.Format(time.RFC3339), stats.Keep),
			fmt.Sprintf("`retention.%s` is %d: raise it in %s, or shorten `keep`", cut.By, cut.Limit, projectFileName))
	}
	if paused := stats.Runs["paused"]; paused > 0 {
		e.warn("runs", "", diag.Count(paused, "run")+" wait for somebody to resume them", "%s", diag.Command{"runs", "list", "--status", "paused"})
	}
	if open := stats.Runs["running"] + stats.Runs["waiting"] + stats.Runs["queued"]; open > 0 && e.owner == nil {
		e.warn("runs", "", diag.Count(open, "run")+" have not ended, and no process drives them", "%s, or start %s, which goes on with all", diag.Command{"runs", "resume", "RUN"}, diag.Command{"serve"})
	}
}

// checkKey opens every sealed value.
func (e *examination) checkKey(ctx context.Context, check string) {
	report, err := e.store.CheckKey(ctx)
	switch {
	case err != nil:
		e.failWith(check, "", err)
	case len(report.Lost) > 0:
		e.fail(check, "", StoreCorrupt, fmt.Sprintf("%s does not open %d of %s", e.Words.Path(report.File), len(report.Lost), diag.Count(report.Values, "sealed value")),
			"put the key file back that belongs to this store; %s names the values", diag.Command{"key", "check"})
	case report.Keys > 1:
		e.warn(check, "", "a rotation of the key was interrupted", "%s finishes it", diag.Command{"key", "rotate"})
	default:
		e.ok(check, "", "it opens all of %s; keep a copy of %s apart from the backups", diag.Count(report.Values, "sealed value"), e.Words.Path(report.File))
	}
}

// checkBackup looks how old the last backup is.
func (e *examination) checkBackup(ctx context.Context, check string) {
	stats, err := e.store.DBStats(ctx)
	if err != nil {
		return // told above
	}
	last := stats.LastBackup
	switch {
	case last == nil:
		e.warn(check, "", "none was made yet", "%s", diag.Command{"db", "backup"})
	case !exists(last.Path):
		e.warn(check, "", fmt.Sprintf("the last one, of %s, is not at %s any more", e.Words.Time(last.At), e.Words.Path(last.Path)), "%s, unless it was moved", diag.Command{"db", "backup"})
	case e.Config.Now().Sub(last.At) > backupAge:
		e.warn(check, "", "the last one is of "+e.Words.Time(last.At), "%s, best every night", diag.Command{"db", "backup"})
	default:
		e.ok(check, "", "the last one is of %s", e.Words.Time(last.At))
	}
}

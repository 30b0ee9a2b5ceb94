package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/flowrun/flowrun/engine"
	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/internal/cli/view"
	"github.com/flowrun/flowrun/internal/web"
)

// backupAge is how old the last backup may be before it is warned of.
const backupAge = 7 * 24 * time.Hour

// Marks of free space (docs/reliability.md, P12).
const (
	diskWarn = 2 << 30
	diskFail = 512 << 20
)

func (d *doctor) checkFolder(context.Context) {
	const check = "state folder"
	if d.refused {
		return // told by checkStrict
	}
	dir := d.at.stateDir
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		d.ok(check, "", "%s is made when something runs", d.app.shown(dir))
		return
	case err != nil:
		d.fail(check, "", exitStoreIO, err.Error(), "")
		return
	case !info.IsDir():
		d.fail(check, "", exitStoreIO, d.app.shown(dir)+" is no folder", "name another one with --state")
		return
	}
	if network := engine.NetworkFileSystem(dir); network != "" && !d.app.boolSetting("allow_network_fs") {
		d.fail(check, "", exitStoreIO, fmt.Sprintf("%s lies on a network file system (%s), where locks and syncs can't be relied on", d.app.shown(dir), network),
			"name a folder of a local disk with --state")
		return
	}
	if stat, ok := info.Sys().(*syscall.Stat_t); ok && int(stat.Uid) != os.Getuid() && os.Getuid() != 0 {
		d.fail(check, "", exitStoreIO, fmt.Sprintf("%s belongs to another user (uid %d)", d.app.shown(dir), stat.Uid), fmt.Sprintf("run flowrun as that user, or: chown -R %d %s", os.Getuid(), diag.ShellWord(dir)))
		return
	}
	if err := writable(dir); err != nil {
		d.fail(check, "", exitStoreIO, err.Error(), "make the folder writable")
		return
	}
	if d.checkMode(check, dir, 0o077, 0o700) {
		d.ok(check, "", "%s, for its owner alone", d.app.shown(dir))
	}
	for _, name := range []string{engine.StoreFile, "key"} {
		if path := filepath.Join(dir, name); exists(path) {
			d.checkMode(name, path, 0o077, 0o600)
		}
	}
}

// writable makes and removes a file in a folder.
func writable(dir string) error {
	probe, err := os.CreateTemp(dir, ".doctor-*")
	if err != nil {
		return err
	}
	return errors.Join(probe.Close(), os.Remove(probe.Name()))
}

// checkMode reports a file or folder that others may use, and mends that. It
// tells whether there was nothing to report.
func (d *doctor) checkMode(check, path string, forbidden, wanted fs.FileMode) bool {
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm()&forbidden == 0 {
		return true
	}
	d.mend(view.Finding{
		Check: check, Status: view.FindingFail, Detail: fmt.Sprintf("%s has the mode %04o: others may look into it", d.app.shown(path), info.Mode().Perm()),
		Hint: fmt.Sprintf("chmod %04o %s", wanted, diag.ShellWord(path)),
	}, exitStoreIO, func() error { return os.Chmod(path, wanted) })
	return false
}

// checkOwner finds out who owns the store now.
func (d *doctor) checkOwner(ctx context.Context) {
	const check = "owner"
	if d.refused {
		return // told by checkStrict
	}
	if !exists(d.at.stateDir) {
		return
	}
	_, owner, err := web.Dial(ctx, d.at.stateDir)
	var gone *web.GoneError
	switch {
	case err == nil:
		d.owner = owner
		d.describeOwner(check)
	case errors.As(err, &gone) && gone.Closing():
		d.warn(check, "", "a process owns the store and is about to end", "try again in a moment")
	case !errors.As(err, &gone):
		d.failWith(check, "", err)
	default:
		d.checkDeadSocket(check)
	}
}

func (d *doctor) describeOwner(check string) {
	what := "runs a command"
	if d.owner.Serve {
		what = "serves"
		if d.owner.URL != "" {
			what += " at " + d.owner.URL
		}
	}
	text := fmt.Sprintf("process %d %s since %s", d.owner.PID, what, d.app.times.Full(d.owner.Since))
	switch {
	case d.owner.Version != d.app.sys.Version:
		d.warn(check, "", fmt.Sprintf("%s; it is flowrun %s, this is %s", text, d.owner.Version, d.app.sys.Version), "start it again, so that both are the same")
	case d.owner.Config != d.at.projectFile:
		d.warn(check, "", fmt.Sprintf("%s, with another project file: %s", text, orNone(d.owner.Config)), "name that one with --config, or another state folder with --state")
	default:
		d.ok(check, "", "%s", text)
	}
}

// checkDeadSocket reports a socket and an owner.json that nobody stands behind.
// Whether somebody does is what the store's lock says.
func (d *doctor) checkDeadSocket(check string) {
	var left []string
	for _, name := range []string{"flowrun.sock", "owner.json"} {
		if path := filepath.Join(d.at.stateDir, name); exists(path) {
			left = append(left, path)
		}
	}
	switch {
	case len(left) == 0:
		d.ok(check, "", "no process owns the store now")
	case d.locked():
		pid := ""
		if owner, err := web.ReadOwner(d.at.stateDir); err == nil && owner.PID > 0 {
			pid = fmt.Sprintf(" (%d)", owner.PID)
		}
		d.fail(check, "", exitLocked, "a process"+pid+" holds the store and does not answer", "look at that process; it can be ended: nothing that was acknowledged is lost")
	default:
		d.mend(view.Finding{
			Check: check, Status: view.FindingWarn, Detail: "a process that was killed left its socket behind", Hint: "the next owner replaces it",
		}, exitOK, func() error {
			var errs []error
			for _, path := range left {
				errs = append(errs, os.Remove(path))
			}
			return errors.Join(errs...)
		})
	}
}

// locked reports whether another process holds the store's lock.
func (d *doctor) locked() bool {
	file, err := os.Open(storePath(d.at))
	if err != nil {
		return false
	}
	defer file.Close()
	err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	return errors.Is(err, syscall.EWOULDBLOCK)
}

// checkStore reads the store file whole where nobody has it open.
func (d *doctor) checkStore(ctx context.Context) {
	const check = "store"
	if d.refused {
		return // told by checkStrict
	}
	path := storePath(d.at)
	if !exists(path) {
		d.ok(check, "", "nothing has run here yet")
		return
	}
	if d.owner != nil {
		d.skip(check, "", "its owner has it open; `"+d.app.commandText("db", "check")+"` checks a copy")
		d.open(ctx)
		return
	}
	report, err := engine.CheckStore(ctx, d.app.engineConfig(d.at), path)
	switch {
	case err != nil:
		d.failWith(check, "", err)
	case len(report.Problems) > 0:
		hint := "`flowrun db check` lists them; `flowrun db restore FILE` puts a backup in its place"
		if report.Backup != nil {
			hint = "put the newest good backup in its place (the damaged file is kept): `flowrun db restore " + d.app.shown(report.Backup.Path) + "`"
		}
		d.fail(check, "", exitStoreCorrupt, fmt.Sprintf("%s is damaged: %s", d.app.shown(path), count(len(report.Problems)+report.More, "problem")), hint)
	default:
		d.ok(check, "", "%s is whole: %s, %s", d.app.shown(path), count(report.Runs, "run"), view.Size(report.Bytes))
		d.open(ctx)
	}
}

// open makes the session that the later checks ask.
func (d *doctor) open(ctx context.Context) {
	session, err := d.app.connect(ctx, roleLook)
	if err != nil {
		d.failWith("store", "", err)
		return
	}
	d.session = session
}

// checkContents looks at what the store says of itself.
func (d *doctor) checkContents(ctx context.Context) {
	if d.session == nil {
		return
	}
	stats, err := d.session.client.DBStats(ctx)
	if err != nil {
		d.failWith("store", "", err)
		return
	}
	if stats.Pressure != "" {
		d.fail("space", "", exitStoreFull, "no run is accepted: "+stats.Pressure, "free the disk, shorten `retention`, or `flowrun db compact` when nothing runs")
	} else if stats.MaxBytes > 0 && stats.UsedBytes > stats.MaxBytes/2 {
		d.warn("space", "", fmt.Sprintf("the store holds %s of at most %s", view.Size(stats.UsedBytes), view.Size(stats.MaxBytes)), "shorten `retention` in "+projectFileName)
	}
	for _, cut := range stats.Cut {
		d.warn("history", "", fmt.Sprintf("the history of %s is cut: runs up to %s are gone, though `retention.keep` is %s", cut.Workflow, cut.UpTo.Format(time.RFC3339), stats.Keep),
			fmt.Sprintf("`retention.%s` is %d: raise it in %s, or shorten `keep`", cut.By, cut.Limit, projectFileName))
	}
	if paused := stats.Runs["paused"]; paused > 0 {
		d.warn("runs", "", count(paused, "run")+" wait for somebody to resume them", "`flowrun runs list --status paused`")
	}
	if d.owner == nil || !d.owner.Serve {
		if open := stats.Runs["running"] + stats.Runs["waiting"] + stats.Runs["queued"]; open > 0 && d.owner == nil {
			d.warn("runs", "", count(open, "run")+" have not ended, and no process drives them", "`flowrun runs resume RUN`, or start `flowrun serve`, which goes on with all")
		}
	}
}

// checkKey opens every sealed value.
func (d *doctor) checkKey(ctx context.Context) {
	const check = "key"
	if d.session == nil {
		return
	}
	report, err := d.session.client.CheckKey(ctx)
	switch {
	case err != nil:
		d.failWith(check, "", err)
	case len(report.Lost) > 0:
		d.fail(check, "", exitStoreCorrupt, fmt.Sprintf("%s does not open %d of %s", d.app.shown(report.File), len(report.Lost), count(report.Values, "sealed value")),
			"put the key file back that belongs to this store; `flowrun key check` names the values")
	case report.Keys > 1:
		d.warn(check, "", "a rotation of the key was interrupted", "`flowrun key rotate` finishes it")
	default:
		d.ok(check, "", "it opens all of %s; keep a copy of %s apart from the backups", count(report.Values, "sealed value"), d.app.shown(report.File))
	}
}

// checkBackup looks how old the last backup is.
func (d *doctor) checkBackup(ctx context.Context) {
	const check = "backup"
	if d.session == nil {
		return
	}
	stats, err := d.session.client.DBStats(ctx)
	if err != nil {
		return // told above
	}
	last := stats.LastBackup
	switch {
	case last == nil:
		d.warn(check, "", "none was made yet", "`flowrun db backup`")
	case !exists(last.Path):
		d.warn(check, "", fmt.Sprintf("the last one, of %s, is not at %s any more", d.app.times.Full(last.At), d.app.shown(last.Path)), "`flowrun db backup`, unless it was moved")
	case d.app.sys.Now().Sub(last.At) > backupAge:
		d.warn(check, "", "the last one is of "+d.app.times.Full(last.At), "`flowrun db backup`, best every night")
	default:
		d.ok(check, "", "the last one is of %s", d.app.times.Full(last.At))
	}
}

// checkDisk looks at the free room of the state folder's disk.
func (d *doctor) checkDisk(context.Context) {
	const check = "disk"
	dir := d.at.stateDir
	for !exists(dir) && filepath.Dir(dir) != dir {
		dir = filepath.Dir(dir)
	}
	var stat syscall.Statfs_t
	if err := syscall.Statfs(dir, &stat); err != nil {
		d.fail(check, "", exitStoreIO, fmt.Sprintf("ask for the free space of %s: %v", dir, err), "")
		return
	}
	free, total := int64(stat.Bavail)*int64(stat.Bsize), int64(stat.Blocks)*int64(stat.Bsize) //nolint:unconvert // Bsize has another type on other systems
	text := fmt.Sprintf("%s free of %s", view.Size(free), view.Size(total))
	switch {
	case free < diskFail || free < total/20:
		d.fail(check, "", exitStoreFull, text+": no run is accepted below 512 MiB or 5 %", "free the disk, or name a folder of another one with --state")
	case free < diskWarn || free < total/10:
		d.warn(check, "", text, "free the disk: no run is accepted below 512 MiB or 5 %")
	default:
		d.ok(check, "", "%s", text)
	}
}

// checkOrphans looks for plugins that killed processes left behind.
func (d *doctor) checkOrphans(ctx context.Context) {
	const check = "left processes"
	if d.project == nil || !exists(d.at.stateDir) {
		return
	}
	orphans, err := d.project.OrphanedPlugins()
	if err != nil {
		d.failWith(check, "", err)
		return
	}
	if len(orphans) == 0 {
		d.ok(check, "", "no plugin was left behind")
		return
	}
	var names []string
	for _, orphan := range orphans {
		names = append(names, fmt.Sprintf("%s (%d)", orphan.Plugin, orphan.PID))
	}
	d.mend(view.Finding{
		Check: check, Status: view.FindingWarn, Detail: "plugins of a process that was killed still run: " + joined(names), Hint: "the next owner ends them",
	}, exitOK, func() error {
		_, err := d.project.EndOrphanedPlugins(ctx)
		return err
	})
}

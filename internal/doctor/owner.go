package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/workspace"
	"github.com/flowrun/flowrun/internal/web"
)

// checkOwner finds out who owns the store now.
func (e *examination) checkOwner(ctx context.Context, check string) {
	if !exists(e.Config.StateDir) {
		return
	}
	_, owner, err := web.Dial(ctx, e.Config.StateDir)
	var gone *web.GoneError
	switch {
	case err == nil:
		e.owner = owner
		e.describeOwner(check)
	case errors.As(err, &gone) && gone.Closing():
		e.warn(check, "", "a process owns the store and is about to end", "try again in a moment")
	case !errors.As(err, &gone):
		e.failWith(check, "", err)
	default:
		e.checkDeadSocket(check)
	}
}

func (e *examination) describeOwner(check string) {
	what := "runs a command"
	if e.owner.Serve {
		what = "serves"
		if e.owner.URL != "" {
			what += " at " + e.owner.URL
		}
	}
	text := fmt.Sprintf("process %d %s since %s", e.owner.PID, what, e.Words.Time(e.owner.Since))
	switch {
	case e.owner.Version != e.Config.Version:
		e.warn(check, "", fmt.Sprintf("%s; it is flowrun %s, this is %s", text, e.owner.Version, e.Config.Version), "start it again, so that both are the same")
	case e.owner.Config != e.Config.ProjectFile:
		e.warn(check, "", fmt.Sprintf("%s, with another project file: %s", text, cmp.Or(e.owner.Config, "none")), "name that one with --config, or another state folder with --state")
	default:
		e.ok(check, "", "%s", text)
	}
}

// checkDeadSocket reports a socket and an owner.json that nobody stands behind.
// Whether somebody does is what the store's lock says.
func (e *examination) checkDeadSocket(check string) {
	var left []string
	for _, name := range []string{"flowrun.sock", "owner.json"} {
		if path := filepath.Join(e.Config.StateDir, name); exists(path) {
			left = append(left, path)
		}
	}
	switch {
	case len(left) == 0:
		e.ok(check, "", "no process owns the store now")
	case e.locked():
		pid := ""
		if owner, err := web.ReadOwner(e.Config.StateDir); err == nil && owner.PID > 0 {
			pid = fmt.Sprintf(" (%d)", owner.PID)
		}
		e.fail(check, "", Locked, "a process"+pid+" holds the store and does not answer", "look at that process; it can be ended: nothing that was acknowledged is lost")
	default:
		e.mend(Finding{
			Check: check, Status: Warn, Detail: "a process that was killed left its socket behind", Hint: diag.Say("the next owner replaces it"),
		}, func() error {
			var errs []error
			for _, path := range left {
				errs = append(errs, os.Remove(path))
			}
			return errors.Join(errs...)
		})
	}
}

// locked reports whether another process holds the store's lock.
func (e *examination) locked() bool {
	file, err := os.Open(filepath.Join(e.Config.StateDir, workspace.StoreFile))
	if err != nil {
		return false
	}
	defer file.Close()
	err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	return errors.Is(err, syscall.EWOULDBLOCK)
}

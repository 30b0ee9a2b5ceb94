package inforce

import (
	"context"
	"slices"
	"time"

	"github.com/flowrun/flowrun/engine/diag"
)

// The times of following the workflow files.
const (
	FollowEvery = 2 * time.Second
	// SettleAfter is how long a change must stand before it is read: a file that is
	// being written may look whole.
	SettleAfter = 250 * time.Millisecond
)

// Follow puts changes of the workflow files in force until ctx ends.
func (r *Revisions) Follow(ctx context.Context, after func(time.Duration) <-chan time.Time) {
	read := r.Glance() // before the load, so that a change meanwhile is seen
	if _, err := r.Refresh(ctx, false); err != nil {
		r.project.Config().Log.Warn("workflow files not read", "error", err)
	}
	r.following.Store(true)
	defer r.following.Store(false)
	set := r.tellLacks(ctx, nil)
	last, wait := read, FollowEvery
	for {
		select {
		case <-ctx.Done():
			return
		case <-after(wait):
		}
		now := r.Glance()
		wait = FollowEvery
		switch {
		case !now.same(last): // something is being written
			wait = SettleAfter
		case !now.same(read) || r.restless():
			if _, err := r.Refresh(ctx, false); err != nil {
				r.project.Config().Log.Warn("workflow files not read", "error", err)
			}
			set = r.tellLacks(ctx, set)
			read = now
		}
		last = now
	}
}

// tellLacks says in the log which triggers can't start a run for want of a secret or
// a setting, once for each revision. told are the hashes of those that were looked
// at; it returns those in force.
func (r *Revisions) tellLacks(ctx context.Context, set map[string]bool) map[string]bool {
	now := map[string]bool{}
	loaded := r.Current.Load()
	if loaded == nil {
		return now
	}
	for _, file := range loaded.Files {
		rev := file.InForce
		if rev == nil {
			continue
		}
		now[rev.Hash] = true
		if set[rev.Hash] {
			continue
		}
		for _, lacking := range r.project.TriggersLack(ctx, rev.Workflow()) {
			r.project.Config().Log.Warn("triggers of a workflow lack something", "workflow", rev.Name(), "error", lacking.String())
		}
	}
	return now
}

// restless reports whether files must be read without a change of their stamps:
// those that have just been read, and those whose problems are not their own.
func (r *Revisions) restless() bool {
	r.loading.Lock()
	defer r.loading.Unlock()
	if len(r.unsure) > 0 {
		return true
	}
	loaded := r.Current.Load()
	return loaded != nil && slices.ContainsFunc(loaded.Files, func(file *WorkflowFile) bool { return file.hopeful })
}

// sameForce reports whether the same revisions are in force.
func (l *LoadedFiles) sameForce(other *LoadedFiles) bool {
	if len(l.byName) != len(other.byName) {
		return false
	}
	for name, file := range l.byName {
		before := other.byName[name]
		if before == nil || before.InForce == nil || before.InForce.Hash != file.InForce.Hash {
			return false
		}
	}
	return true
}

// report says in the log what a load has found.
func (r *Revisions) report(before, now *LoadedFiles) {
	log := r.project.Config().Log
	files := before.ByFile()
	for _, file := range now.Files {
		old := files[file.File]
		delete(files, file.File)
		broken := FirstError(file.AllProblems())
		switch {
		case broken != nil && (old == nil || FirstError(old.AllProblems()) == nil || FirstError(old.AllProblems()).String() != broken.String()):
			log.Warn("workflow file has errors", "file", file.File, "in_force", inForceText(file), "error", broken.String())
		case broken == nil && old != nil && old.hash != file.hash:
			log.Info("workflow changed", "workflow", file.InForce.Name(), "file", file.File)
		case broken == nil && old == nil && len(before.Files) > 0:
			log.Info("workflow added", "workflow", file.InForce.Name(), "file", file.File)
		}
	}
	for _, gone := range files {
		log.Info("workflow file removed", "file", gone.File)
	}
}

func inForceText(f *WorkflowFile) string {
	if f.InForce == nil {
		return "nothing"
	}
	return "its last good revision"
}

// FirstError is the first error of a list in one line.
func FirstError(problems diag.List) *diag.Problem {
	for i := range problems {
		if problems[i].Severity == diag.Error {
			return &problems[i]
		}
	}
	return nil
}

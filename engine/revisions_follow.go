package engine

import (
	"context"
	"time"

	"github.com/flowrun/flowrun/engine/diag"
)

// The times of following the workflow files.
const (
	followEvery = 2 * time.Second
	// settleAfter is how long a change must stand before it is read: a file that is
	// being written may look whole.
	settleAfter = 250 * time.Millisecond
)

// follow puts changes of the workflow files in force until ctx ends.
func (r *revisions) follow(ctx context.Context, after func(time.Duration) <-chan time.Time) {
	read := r.glance() // before the load, so that a change meanwhile is seen
	if _, err := r.refresh(ctx, false); err != nil {
		r.project.Config().Log.Warn("workflow files not read", "error", err)
	}
	r.following.Store(true)
	defer r.following.Store(false)
	told := r.tellLacks(ctx, nil)
	last, wait := read, followEvery
	for {
		select {
		case <-ctx.Done():
			return
		case <-after(wait):
		}
		now := r.glance()
		wait = followEvery
		switch {
		case !now.same(last): // something is being written
			wait = settleAfter
		case !now.same(read) || r.restless():
			if _, err := r.refresh(ctx, false); err != nil {
				r.project.Config().Log.Warn("workflow files not read", "error", err)
			}
			told = r.tellLacks(ctx, told)
			read = now
		}
		last = now
	}
}

// tellLacks says in the log which triggers can't start a run for want of a secret or
// a setting, once for each revision. told are the hashes of those that were looked
// at; it returns those in force.
func (r *revisions) tellLacks(ctx context.Context, told map[string]bool) map[string]bool {
	now := map[string]bool{}
	loaded := r.current.Load()
	if loaded == nil {
		return now
	}
	for _, file := range loaded.files {
		rev := file.inForce
		if rev == nil {
			continue
		}
		now[rev.hash] = true
		if told[rev.hash] {
			continue
		}
		for _, lacking := range r.project.TriggersLack(ctx, rev.workflow()) {
			r.project.Config().Log.Warn("triggers of a workflow lack something", "workflow", rev.name(), "error", lacking.String())
		}
	}
	return now
}

// restless reports whether files must be read without a change of their stamps:
// those that have just been read, and those whose problems are not their own.
func (r *revisions) restless() bool {
	r.loading.Lock()
	defer r.loading.Unlock()
	if len(r.unsure) > 0 {
		return true
	}
	if loaded := r.current.Load(); loaded != nil {
		for _, file := range loaded.files {
			if file.hopeful {
				return true
			}
		}
	}
	return false
}

// sameForce reports whether the same revisions are in force.
func (l *loadedFiles) sameForce(other *loadedFiles) bool {
	if len(l.byName) != len(other.byName) {
		return false
	}
	for name, file := range l.byName {
		before := other.byName[name]
		if before == nil || before.inForce == nil || before.inForce.hash != file.inForce.hash {
			return false
		}
	}
	return true
}

// report says in the log what a load has found.
func (r *revisions) report(before, now *loadedFiles) {
	log := r.project.Config().Log
	known := map[string]*workflowFile{}
	for _, file := range before.files {
		known[file.file] = file
	}
	for _, file := range now.files {
		old := known[file.file]
		delete(known, file.file)
		broken := firstError(file.allProblems())
		switch {
		case broken != nil && (old == nil || firstError(old.allProblems()) == nil || firstError(old.allProblems()).String() != broken.String()):
			log.Warn("workflow file has errors", "file", file.file, "in_force", inForceText(file), "error", broken.String())
		case broken == nil && old != nil && old.hash != file.hash:
			log.Info("workflow changed", "workflow", file.inForce.name(), "file", file.file)
		case broken == nil && old == nil && len(before.files) > 0:
			log.Info("workflow added", "workflow", file.inForce.name(), "file", file.file)
		}
	}
	for _, gone := range known {
		log.Info("workflow file removed", "file", gone.file)
	}
}

func inForceText(f *workflowFile) string {
	if f.inForce == nil {
		return "nothing"
	}
	return "its last good revision"
}

func firstError(problems diag.List) *diag.Problem {
	for i := range problems {
		if problems[i].Severity == diag.Error {
			return &problems[i]
		}
	}
	return nil
}

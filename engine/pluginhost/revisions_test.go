package pluginhost

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/flowrun/flowrun/engine/runs"
)

// rebuilt is a world with one local plugin whose file can be written anew: its bytes and
// what is appended to them.
func rebuilt(t *testing.T) (w *world, rebuild func(tail string) (digest string)) {
	t.Helper()
	self, err := os.ReadFile(must(os.Executable()))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "my-plugin")
	write := func(tail string) {
		if err := os.WriteFile(path+".new", append(self[:len(self):len(self)], tail...), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(path+".new", path); err != nil {
			t.Fatal(err)
		}
	}
	write("")
	w = newWorld(t, "good", func(o *Options) {
		o.Sources = []Source{{Name: "evil", Path: path, Command: []string{path, "plugin", "good"}}}
	})
	return w, func(tail string) string {
		write(tail)
		d, err := w.host.Fresh(t.Context(), "evil")
		if err != nil {
			t.Fatal(err)
		}
		return d.Digest
	}
}

// pidOf calls the revision of a digest and returns the process that answered.
func (w *world) pidOf(digest string) (pid any, failure *runs.Error) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), 20*time.Second)
	defer cancel()
	answer := w.host.Call(ctx, runs.Request{Action: "evil.pid", PluginDigest: digest, Input: json.RawMessage(`{}`), Attempt: 1}, Connection{Name: "main"}, nil)
	if answer.Failed != nil {
		return nil, answer.Failed
	}
	var output map[string]any
	if err := json.Unmarshal(answer.Completed.Output, &output); err != nil {
		w.t.Fatal(err)
	}
	return output["pid"], nil
}

// TestIssue15_RevisionsLiveBesideEachOther: a rebuilt file changes nothing until it is put
// in force, and who names a digest is answered by a process of that digest before and after.
func TestIssue15_RevisionsLiveBesideEachOther(t *testing.T) {
	t.Parallel()
	w, rebuild := rebuilt(t)
	d, err := w.host.Describe(t.Context(), "evil")
	if err != nil {
		t.Fatal(err)
	}
	one := d.Digest
	first := w.ok("pid", `{}`)["pid"]
	two := rebuild("two")
	if one == two {
		t.Fatal("the rebuilt file has the digest of before")
	}
	for _, digest := range []string{"", one} {
		if pid, failure := w.pidOf(digest); failure != nil || pid != first {
			t.Errorf("call of %q before the switch: process %v, %v, want %v", digest, pid, failure, first)
		}
	}
	second, failure := w.pidOf(two)
	if failure != nil || second == first {
		t.Fatalf("the new revision: process %v, %v; the old one is %v", second, failure, first)
	}
	if err := w.host.PutInForce("evil", two); err != nil {
		t.Fatal(err)
	}
	for digest, want := range map[string]any{"": second, one: first, two: second} {
		if pid, failure := w.pidOf(digest); failure != nil || pid != want {
			t.Errorf("call of %q after the switch: process %v, %v, want %v", digest, pid, failure, want)
		}
	}
}

// TestIssue15_ARevisionOfBeforeRunsFromItsCopy: a host that begins anew finds the revision
// of a run by its digest, though the file is another one by now; one of which nothing is
// left says so.
func TestIssue15_ARevisionOfBeforeRunsFromItsCopy(t *testing.T) {
	t.Parallel()
	w, rebuild := rebuilt(t)
	d, err := w.host.Describe(t.Context(), "evil")
	if err != nil {
		t.Fatal(err)
	}
	rebuild("two")
	again := New(w.host.options)
	t.Cleanup(func() { _ = again.Close(context.Background()) })
	next := &world{t: t, host: again, clock: w.clock}
	if _, failure := next.pidOf(d.Digest); failure != nil {
		t.Fatalf("the revision of before: %v", failure)
	}
	if err := again.Holds("evil", d.Digest); err != nil {
		t.Error(err)
	}
	unknown := strings.Repeat("0", 64)
	var gone *PluginError
	if err := again.Holds("evil", unknown); !errors.As(err, &gone) || gone.Reason != ReasonGone {
		t.Errorf("holds an unknown revision: %v", err)
	}
	_, failure := next.pidOf(unknown)
	if failure == nil || failure.Reason != ReasonGone || !strings.Contains(failure.Message, "its revision 000000000000 is gone") || !strings.Contains(failure.Hint.Text, "--with-latest") {
		t.Errorf("call of an unknown revision: %+v", failure)
	}
}

// TestIssue15_OldRevisionsEndWhenNobodyNeedsThem: process, copy and description; those of
// the revision in force and of one that is needed stay.
func TestIssue15_OldRevisionsEndWhenNobodyNeedsThem(t *testing.T) {
	t.Parallel()
	w, rebuild := rebuilt(t)
	d, err := w.host.Describe(t.Context(), "evil")
	if err != nil {
		t.Fatal(err)
	}
	one := d.Digest
	w.ok("pid", `{}`)
	two := rebuild("two")
	if err := w.host.PutInForce("evil", two); err != nil {
		t.Fatal(err)
	}
	copied := func(digest string) bool {
		_, err := os.Stat(filepath.Join(w.host.dir, digest, "evil"))
		return err == nil
	}
	w.clock.advance(2 * youngCopy)
	needed := func(plugin, digest string) bool { return plugin == "evil" && digest == one }
	if left := w.host.DropRevisions(needed); left != 1 || !copied(one) || !copied(two) {
		t.Errorf("%d old copies are left; needed: %v, in force: %v", left, copied(one), copied(two))
	}
	before := w.host.plugins["evil"].revisions[one].process
	if before == nil {
		t.Fatal("the needed revision has no process")
	}
	if left := w.host.DropRevisions(func(string, string) bool { return false }); left != 0 || copied(one) || !copied(two) {
		t.Errorf("%d old copies are left; old: %v, in force: %v", left, copied(one), copied(two))
	}
	select {
	case <-before.gone:
	case <-time.After(20 * time.Second):
		t.Error("the old process did not end")
	}
	if status := w.host.Status("evil"); status.Starts < 2 {
		t.Errorf("%d starts are told of: those of the old revision are forgotten", status.Starts)
	}
}

package main_test

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/flowrun/flowrun/internal/suitesize"
	"github.com/flowrun/flowrun/internal/testbuild"
)

// TestIssue15_RevisionsUnderRandomKills rebuilds a plugin under a server and kills the server
// at a random moment of it, again and again: after each start a revision is in force that
// breaks no workflow, it is the one that runs and that the record names, and a run that
// waits ends on its own, whatever has come and gone since. FLOWRUN_SEED repeats one.
func TestIssue15_RevisionsUnderRandomKills(t *testing.T) {
	t.Parallel()
	kills := suitesize.Of(t, "FLOWRUN_REVISION_KILLS", 12)
	seed := suitesize.Commit(t)
	if text := os.Getenv("FLOWRUN_SEED"); text != "" {
		n, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		seed = n
	}
	t.Logf("%d kills, FLOWRUN_SEED=%d", kills, seed)
	random := rand.New(rand.NewPCG(seed, 15))
	r := newRevised(t)
	builds := r.builds()
	waiting := map[string]string{} // runs that wait: their versions
	for range kills {
		r.serve()
		if len(waiting) < 3 {
			id := r.begin()
			waiting[id] = r.pinned(id)
		}
		rebuilt := make(chan struct{})
		after := time.Duration(random.IntN(150)) * time.Millisecond
		first, second := builds[random.IntN(len(builds))], builds[random.IntN(len(builds))]
		go func() {
			defer close(rebuilt)
			time.Sleep(after)
			r.put(first)
			time.Sleep(after)
			r.put(second)
		}()
		time.Sleep(time.Duration(random.IntN(900)) * time.Millisecond)
		r.kill()
		<-rebuilt

		r.serve()
		r.fits()
		for id, version := range waiting {
			if random.IntN(3) == 0 {
				r.finish(id, version)
				delete(waiting, id)
			}
			break
		}
		r.kill()
	}
	r.serve()
	for id, version := range waiting {
		r.finish(id, version)
	}
	r.kill()
}

// builds links the plugin in some versions, the last of which breaks the workflows, and
// returns their files.
func (r *revised) builds() (files []string) {
	r.t.Helper()
	for _, version := range []string{"1.0.0", "2.0.0", "3.0.0"} {
		field := "name"
		if version == "3.0.0" {
			field = "who"
		}
		file := filepath.Join(r.dir, "greeter-"+version)
		if err := testbuild.Program(file, "./testdata/greeter", "-ldflags=-s -w -X main.version="+version+" -X main.field="+field); err != nil {
			r.t.Fatal(err)
		}
		files = append(files, file)
	}
	return files
}

// put puts a build in the plugin's place, whole.
func (r *revised) put(build string) {
	place := filepath.Join(r.dir, "bin", "greeter")
	bytes, err := os.ReadFile(build)
	if err == nil {
		err = os.WriteFile(place+".new", bytes, 0o755)
	}
	if err == nil {
		err = os.Rename(place+".new", place)
	}
	if err != nil {
		r.t.Error(err)
	}
}

// pinned is the version that a run was accepted with.
func (r *revised) pinned(id string) string {
	r.t.Helper()
	return r.read(r.flowrun(0, "runs", "show", id, "-o", "json")).Plugins[0].Version
}

// fits runs the workflow: what answers is what the record names, and breaks nothing.
func (r *revised) fits() {
	r.t.Helper()
	started := r.read(r.flowrun(0, "run", "once.yaml", "-o", "json"))
	if version := r.pinned(started.Run.ID); version != started.Outputs.By || version == "3.0.0" {
		r.t.Errorf("version %s answered, the record names %s", started.Outputs.By, version)
	}
}

package strictmode_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/flowrun/flowrun/engine/strictmode"
)

// place is a state folder with something in each place that is believed.
func place(t *testing.T) (above, state string) {
	t.Helper()
	above = filepath.Join(t.TempDir(), "above")
	state = filepath.Join(above, "project", "state")
	for _, folder := range []string{"plugins/ab12", "plugins/home/tasks", "plugins/sock", "plugins/tmp", "backups", "sandbox"} {
		if err := os.MkdirAll(filepath.Join(state, folder), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range []string{"flowrun.db", "flowrun.db.bak", "key", "owner.json", "plugins/pids.json", "plugins/digests.json", "plugins/ab12/tasks", "plugins/home/tasks/own", "notes.txt"} {
		if err := os.WriteFile(filepath.Join(state, file), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return above, state
}

func mode(t *testing.T, path string, mode fs.FileMode) {
	t.Helper()
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}

func TestIssue13_03WhatOthersMayWriteIsFound(t *testing.T) {
	me := strictmode.Self()
	for name, test := range map[string]struct {
		path string // below the folder above
		mode fs.FileMode
		who  strictmode.Identity
		want string // "" = nothing is found
	}{
		"as it is made":               {"project/state", 0o700, me, ""},
		"others may read":             {"project/state", 0o755, me, ""},
		"the folder, group":           {"project/state", 0o770, me, "chmod go-w "},
		"the folder, all":             {"project/state", 0o702, me, "chmod go-w "},
		"the store":                   {"project/state/flowrun.db", 0o620, me, "chmod go-w "},
		"a store of before":           {"project/state/flowrun.db.bak", 0o602, me, "chmod go-w "},
		"the key":                     {"project/state/key", 0o660, me, "chmod go-w "},
		"the owner's record":          {"project/state/owner.json", 0o606, me, "chmod go-w "},
		"the backups":                 {"project/state/backups", 0o770, me, "chmod go-w "},
		"the plugins":                 {"project/state/plugins", 0o770, me, "chmod go-w "},
		"a folder of copies":          {"project/state/plugins/ab12", 0o770, me, "chmod go-w "},
		"a copy":                      {"project/state/plugins/ab12/tasks", 0o722, me, "chmod go-w "},
		"the pids":                    {"project/state/plugins/pids.json", 0o606, me, "chmod go-w "},
		"the digests":                 {"project/state/plugins/digests.json", 0o660, me, "chmod go-w "},
		"the sockets":                 {"project/state/plugins/sock", 0o777, me, "chmod go-w "},
		"the homes":                   {"project/state/plugins/home", 0o777, me, "chmod go-w "},
		"a plugin's own file":         {"project/state/plugins/home/tasks/own", 0o666, me, ""},
		"a file that nobody believes": {"project/state/notes.txt", 0o666, me, ""},
		"above, all":                  {"project", 0o777, me, "chmod go-w "},
		"further above, all":          {"", 0o757, me, "chmod go-w "},
		"above, all, sticky":          {"project", 0o777 | fs.ModeSticky, me, ""},
		"above, a group of ours":      {"project", 0o775, me, ""},
	} {
		t.Run(name, func(t *testing.T) {
			above, state := place(t)
			changed := filepath.Join(above, test.path)
			mode(t, changed, test.mode)
			faults := strictmode.Check(state, test.who)
			switch {
			case test.want == "" && len(faults) > 0:
				t.Errorf("%v", faults)
			case test.want == "":
			case len(faults) != 1:
				t.Errorf("%d faults: %v", len(faults), faults)
			case faults[0].Path != changed || faults[0].Fix != test.want+changed || !strings.Contains(faults[0].Error(), changed):
				t.Errorf("%+v", faults[0])
			}
		})
	}
}

// A folder above that a group may write which this process is not in: sshd's rule.
func TestIssue13_03AForeignGroupAboveIsFound(t *testing.T) {
	above, state := place(t)
	if os.Getuid() != 0 {
		t.Skip("only root can give a folder to another group")
	}
	project := filepath.Join(above, "project")
	if err := os.Chown(project, 0, 71_234); err != nil {
		t.Fatal(err)
	}
	mode(t, project, 0o775)
	faults := strictmode.Check(state, strictmode.Self())
	if len(faults) != 1 || faults[0].Fix != "chmod g-w "+project {
		t.Errorf("%v", faults)
	}
	mode(t, project, 0o755)
	if faults := strictmode.Check(state, strictmode.Self()); len(faults) > 0 {
		t.Errorf("%v", faults)
	}
}

// Another user than root and this one has the folder, or one above.
func TestIssue13_03TheOwnerCounts(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can give a folder to another user")
	}
	other := strictmode.Identity{UID: 71_000, Unknown: -1}
	above, state := place(t)
	if faults := strictmode.Check(state, other); len(faults) != 0 {
		t.Errorf("root's: %v", faults) // it may change everything anyhow
	}
	for _, path := range []string{filepath.Join(above, "project"), state, filepath.Join(state, "flowrun.db"), filepath.Join(state, "plugins", "ab12", "tasks")} {
		if err := os.Chown(path, 71_001, 0); err != nil {
			t.Fatal(err)
		}
		faults := strictmode.Check(state, other)
		if len(faults) != 1 || faults[0].Path != path || faults[0].Fix != "chown 71000 "+path || !strings.Contains(faults[0].Detail, "uid 71001") {
			t.Errorf("%s: %v", path, faults)
		}
		if faults := strictmode.Check(state, strictmode.Identity{UID: 71_001, Unknown: -1}); len(faults) != 0 {
			t.Errorf("its own: %v", faults)
		}
		unknown := other
		unknown.Unknown = 71_001 // an owner that the namespace does not know
		if faults := strictmode.Check(state, unknown); len(faults) != 0 {
			t.Errorf("of no known user: %v", faults)
		}
		if err := os.Chown(path, 0, 0); err != nil {
			t.Fatal(err)
		}
	}
}

func TestIssue13_03LinksAreFollowed(t *testing.T) {
	above, state := place(t)
	base := t.TempDir()
	link, relative := filepath.Join(base, "link"), filepath.Join(base, "relative")
	back, err := filepath.Rel(base, state)
	if err != nil {
		t.Fatal(err)
	}
	for name, target := range map[string]string{link: state, relative: back} {
		if err := os.Symlink(target, name); err != nil {
			t.Fatal(err)
		}
		if faults := strictmode.Check(name, strictmode.Self()); len(faults) != 0 {
			t.Errorf("%s: %v", name, faults)
		}
		mode(t, above, 0o777)
		if faults := strictmode.Check(name, strictmode.Self()); len(faults) != 1 || faults[0].Path != above {
			t.Errorf("%s: %v", name, faults)
		}
		mode(t, above, 0o700)
	}
	// What lies in the folder may be a link too.
	store, elsewhere := filepath.Join(state, "flowrun.db"), filepath.Join(base, "open", "flowrun.db")
	if err := os.Mkdir(filepath.Dir(elsewhere), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(store, elsewhere); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(elsewhere, store); err != nil {
		t.Fatal(err)
	}
	mode(t, filepath.Dir(elsewhere), 0o777)
	if faults := strictmode.Check(state, strictmode.Self()); len(faults) != 1 || faults[0].Path != filepath.Dir(elsewhere) {
		t.Errorf("%v", faults)
	}
	if err := os.Remove(elsewhere); err != nil {
		t.Fatal(err)
	}
	mode(t, filepath.Dir(elsewhere), 0o700)
	if faults := strictmode.Check(state, strictmode.Self()); len(faults) != 1 || !strings.Contains(faults[0].Detail, "does not exist") {
		t.Errorf("%v", faults)
	}
	loop := filepath.Join(base, "loop")
	if err := os.Symlink(loop, loop); err != nil {
		t.Fatal(err)
	}
	strictmode.Check(loop, strictmode.Self()) // it ends
}

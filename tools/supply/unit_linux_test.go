package main

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// debVariable names a package to try: `make image-check` gives the one that goes out. Without
// it one is made around a program that is built as tests build theirs.
const debVariable = "FLOWRUN_DEB"

// triedDeb is the package that is tried.
func triedDeb(t *testing.T) *openedDeb {
	t.Helper()
	var content []byte
	var err error
	if file := os.Getenv(debVariable); file != "" {
		content, err = os.ReadFile(file)
	} else {
		binary := filepath.Join(t.TempDir(), "flowrun")
		static(t, program, binary)
		var text []byte
		text, err = os.ReadFile(binary)
		content = debOf(t, "v1.2.3", text)
	}
	if err != nil {
		t.Fatal(err)
	}
	d, err := openDeb(content)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// setting is what a unit says for a key, the first time.
func setting(t *testing.T, unit, key string) string {
	t.Helper()
	for line := range strings.Lines(unit) {
		if value, ok := strings.CutPrefix(line, key+"="); ok {
			return strings.TrimSpace(value)
		}
	}
	t.Fatalf("the unit has no %s", key)
	return ""
}

// TestIssue18_TheUnitFiresACron does with a Debian package what dpkg and systemd do, in
// namespaces of its own: its files at their places, its user, its state folder, and the command
// of its unit, which tells the service manager that it is ready. A person adds a workflow, and
// the clock starts a run of it.
func TestIssue18_TheUnitFiresACron(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("only root can make namespaces with users")
	}
	if _, err := exec.LookPath("nsenter"); err != nil {
		t.Skip("there is no nsenter")
	}
	d := triedDeb(t)
	unit := string(d.files[debUnit].content)
	state, told := t.TempDir(), t.TempDir()
	s := spec{
		Root: t.TempDir(), Project: t.TempDir(), UID: 64000, GID: 64000, Dir: setting(t, unit, "WorkingDirectory"), Args: strings.Fields(setting(t, unit, "ExecStart")),
		Env:    []string{"STATE_DIRECTORY=/var/lib/" + setting(t, unit, "StateDirectory"), "NOTIFY_SOCKET=/run/notify/socket", "PATH=/usr/bin", "USER=" + setting(t, unit, "User")},
		Mounts: map[string]string{"/var/lib/flowrun": state, "/run/notify": told},
	}
	s.Program = s.Args[0]
	for name, f := range withPlaces(d.files) {
		path := filepath.Join(s.Root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := writeEntry(path, f); err != nil {
			t.Fatal(err)
		}
	}
	for name, content := range map[string][]byte{"flowrun.yaml": d.files["etc/flowrun/flowrun.yaml"].content, "workflows/minute.yaml": []byte(minutely)} {
		path := filepath.Join(s.Project, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for dir, mode := range map[string]os.FileMode{s.Root: 0o755, s.Project: 0o755, told: 0o755, state: 0o700} {
		if err := os.Chmod(dir, mode); err != nil {
			t.Fatal(err)
		}
	}
	manager, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: filepath.Join(told, "socket"), Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer manager.Close()
	for _, path := range []string{state, filepath.Join(told, "socket")} {
		if err := os.Chown(path, s.UID, s.GID); err != nil {
			t.Fatal(err)
		}
	}
	c := start(t, s)
	hears(t, manager, "READY=1")
	untilWithin(t, firesWithin, "the clock starts a run", c.hasFired)
	if code := c.end(); code != 143 || !strings.Contains(setting(t, unit, "SuccessExitStatus"), "143") {
		t.Errorf("SIGTERM ends it with %d", code)
	}
}

// withPlaces adds the folders that a machine has.
func withPlaces(files map[string]entry) map[string]entry {
	all := map[string]entry{"tmp/": {"tmp/", 0o1777, nil}, "run/notify/": {"run/notify/", 0o755, nil}, "var/lib/flowrun/": {"var/lib/flowrun/", 0o755, nil}}
	for name, f := range files {
		if name != "" && !strings.HasSuffix(name, "/") {
			all[name] = f
		}
	}
	return all
}

// hears waits for a message to the service manager.
func hears(t *testing.T, manager *net.UnixConn, want string) {
	t.Helper()
	if err := manager.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	for message := make([]byte, 4096); ; {
		n, err := manager.Read(message)
		if err != nil {
			t.Fatalf("the service manager waits for %s: %v", want, err)
		}
		if strings.HasPrefix(string(message[:n]), want) {
			return
		}
	}
}

//go:build linux

package main_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// bareTerminal opens a pair of a terminal: who holds the first end sees what is
// written on the second, and closing the first hangs up.
func bareTerminal(t *testing.T) (master, slave *os.File) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no terminals here: %v", err)
	}
	number, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	slave, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	return master, slave
}

// TestAClosedTerminalEndsTheServer: SIGHUP means that, and not to read the files
// again, when the terminal that the server was started in is gone.
func TestAClosedTerminalEndsTheServer(t *testing.T) {
	t.Parallel()
	binary, dir := buildBinary(t), t.TempDir()
	write(t, dir, "flowrun.yaml", "server: {listen: \"127.0.0.1:0\"}\n")
	master, slave := bareTerminal(t)
	server := exec.Command(binary, "serve")
	server.Dir, server.Stdin, server.Stdout, server.Stderr = dir, slave, slave, slave
	server.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Process.Kill() })
	_ = slave.Close()
	lines := bufio.NewScanner(master)
	for lines.Scan() && !strings.Contains(lines.Text(), "log in, once") {
	}
	if err := server.Process.Signal(syscall.SIGHUP); err != nil { // the terminal is there: it reloads
		t.Fatal(err)
	}
	for lines.Scan() && !strings.Contains(lines.Text(), "workflows read again") {
	}
	if err := lines.Err(); err != nil {
		t.Fatalf("it ended by the first SIGHUP: %v", err)
	}
	if err := master.Close(); err != nil { // the kernel sends the second
		t.Fatal(err)
	}
	_ = server.Wait() // its exit code says how
	if code := server.ProcessState.ExitCode(); code != 130 {
		t.Errorf("it ended with %v", server.ProcessState)
	}
	if _, err := os.Stat(filepath.Join(dir, ".flowrun", "state", "owner.json")); err == nil {
		t.Error("the store was not given back")
	}
}

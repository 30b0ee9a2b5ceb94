//go:build linux

package peer_test

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/flowrun/flowrun/engine/peer"
)

// The test program is also the processes that connect. "connect PATH" connects and
// waits; "orphan PATH" starts one of those in a session of its own, with a clean
// environment, and ends.
const roleVariable = "PEER_TEST_ROLE"

func TestMain(m *testing.M) {
	verb, path, _ := strings.Cut(os.Getenv(roleVariable), " ")
	switch verb {
	case "":
		os.Exit(m.Run())
	case "orphan":
		child := exec.Command(os.Args[0])
		child.Env = []string{roleVariable + "=late " + path}
		child.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		if err := child.Start(); err != nil {
			os.Exit(3)
		}
		os.Exit(0)
	case "late":
		time.Sleep(200 * time.Millisecond) // its parent has ended
	}
	conn, err := net.Dial("unix", path)
	if err != nil {
		os.Exit(4)
	}
	fmt.Fprintln(conn, os.Getpid(), os.Getppid())
	_, _ = conn.Read(make([]byte, 1)) // until the other side hangs up
	os.Exit(0)
}

func start(t *testing.T, role string) {
	t.Helper()
	command := exec.Command(os.Args[0])
	command.Env = []string{roleVariable + "=" + role}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = command.Process.Kill(); _ = command.Wait() })
}

// accepted returns the next connection, and what its process says of itself.
func accepted(t *testing.T, listener net.Listener) (conn net.Conn, pid, parent int) {
	t.Helper()
	conn, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	line, err := bufio.NewReader(conn).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Sscan(line, &pid, &parent); err != nil {
		t.Fatal(err)
	}
	return conn, pid, parent
}

func TestIssue13_04DescendantsAreKnown(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	listener, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()

	start(t, "connect "+path)
	conn, pid, _ := accepted(t, listener)
	who, err := peer.Of(conn)
	if err != nil || who.PID != pid || who.UID != os.Getuid() || who.User == "" || !strings.HasSuffix(who.Command, ".test") {
		t.Errorf("%+v, %v", who, err)
	}
	if child, err := peer.ChildOf(pid, os.Getpid()); err != nil || child != pid {
		t.Errorf("a child: %d, %v", child, err)
	}
	if child, err := peer.ChildOf(os.Getpid(), os.Getpid()); err != nil || child != 0 {
		t.Errorf("itself: %d, %v", child, err)
	}
	if child, err := peer.ChildOf(os.Getppid(), os.Getpid()); err != nil || child != 0 {
		t.Errorf("its parent: %d, %v", child, err)
	}

	// Control: without adoption an orphan can't be told from anybody else.
	start(t, "orphan "+path)
	_, pid, parent := accepted(t, listener)
	if child, err := peer.ChildOf(pid, os.Getpid()); parent != os.Getpid() && (err != nil || child != 0) {
		t.Errorf("an orphan of nobody: %d, %v", child, err)
	}

	stop, err := peer.Adopt()
	if err != nil {
		t.Skip(err)
	}
	defer stop()
	start(t, "orphan "+path)
	conn, pid, parent = accepted(t, listener)
	if child, err := peer.ChildOf(pid, os.Getpid()); err != nil || child != pid || parent != os.Getpid() {
		t.Errorf("an orphan in its own session: %d, %v; its parent is %d", child, err, parent)
	}
	// What was adopted and has ended is waited for; ours is left to us.
	own := exec.Command("true")
	if err := own.Start(); err != nil {
		t.Fatal(err)
	}
	_ = conn.Close()
	gone := false
	for range 500 {
		if _, err := os.Stat(fmt.Sprintf("/proc/%d", pid)); err != nil {
			gone = true
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if !gone {
		t.Error("the orphan stays as a zombie")
	}
	if err := own.Wait(); err != nil {
		t.Errorf("our own child was waited for by somebody else: %v", err)
	}
}

// A process that has ended did not connect, whoever has its pid now.
func TestIssue13_04TheEndedAreNotTaken(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	listener, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	command := exec.Command(os.Args[0])
	command.Env = []string{roleVariable + "=connect " + path}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	conn, pid, _ := accepted(t, listener)
	_ = command.Process.Kill()
	_ = command.Wait()
	if who, err := peer.Of(conn); err == nil {
		if _, err := peer.ChildOf(pid, os.Getpid()); err == nil {
			t.Errorf("%+v is taken", who)
		}
	}
}

func TestWhatAPeerSaysOfItselfIsAClaim(t *testing.T) {
	p := peer.Peer{UID: 1000, User: "ann", PID: 12, Command: "/bin/x"}
	for claim, want := range map[string]string{
		"": "ann (uid 1000, process 12, /bin/x)", "ann": "ann (uid 1000, process 12, /bin/x)",
		"boss": `ann (uid 1000, process 12, /bin/x) who says "boss"`, "a\nb": `ann (uid 1000, process 12, /bin/x) who says "a\nb"`,
	} {
		if got := p.By(claim); got != want {
			t.Errorf("%q: %s", claim, got)
		}
	}
	if got := p.Account("ann") + p.Account("boss"); got != `ann (uid 1000)ann (uid 1000) who says "boss"` {
		t.Error(got)
	}
	if long := p.By(strings.Repeat("x", 500)); len(long) > 150 {
		t.Errorf("%d bytes", len(long))
	}
}

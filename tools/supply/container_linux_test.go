package main

import (
	"archive/tar"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"
)

// containerVariable tells the program of the tests that it is the first process of a
// container, and how it is one.
const containerVariable = "SUPPLY_TEST_CONTAINER"

// spec is how a container is run, as engines of containers do it.
type spec struct {
	Root    string            // unpacked image; mounted read-only
	Mounts  map[string]string // folders by the place where they are mounted
	Args    []string
	Env     []string
	Dir     string
	UID     int
	GID     int
	Project string // mounted read-only at Dir
	Program string // flowrun, as its commands are called beside the first process; "" = that of an image
}

func TestMain(m *testing.M) {
	if text := os.Getenv(containerVariable); text != "" {
		fmt.Fprintln(os.Stderr, "container:", become(text)) // returns only when it fails
		os.Exit(125)
	}
	os.Exit(m.Run())
}

// become makes this process, which is alone in its namespaces, the first one of the
// container.
func become(text string) error {
	var s spec
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		return err
	}
	mount := func(from, to, kind string, flags uintptr) error {
		if err := syscall.Mount(from, to, kind, flags, ""); err != nil {
			return fmt.Errorf("mount %s: %w", to, err)
		}
		return nil
	}
	if err := errors.Join(
		mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE), mount(s.Root, s.Root, "", syscall.MS_BIND),
		os.MkdirAll(s.Root+"/proc", 0o555), os.MkdirAll(s.Root+"/dev", 0o755), os.MkdirAll(s.Root+"/.old", 0o700),
		mount("proc", s.Root+"/proc", "proc", syscall.MS_NOSUID|syscall.MS_NODEV|syscall.MS_NOEXEC), mount("tmpfs", s.Root+"/dev", "tmpfs", syscall.MS_NOSUID),
	); err != nil {
		return err
	}
	for _, device := range []string{"null", "zero", "random", "urandom"} {
		if err := errors.Join(os.WriteFile(s.Root+"/dev/"+device, nil, 0o666), mount("/dev/"+device, s.Root+"/dev/"+device, "", syscall.MS_BIND)); err != nil {
			return err
		}
	}
	s.Mounts[s.Dir] = s.Project
	for to, from := range s.Mounts {
		if err := mount(from, s.Root+to, "", syscall.MS_BIND); err != nil {
			return err
		}
	}
	const readOnly = syscall.MS_BIND | syscall.MS_REMOUNT | syscall.MS_RDONLY
	if err := errors.Join(mount("", s.Root+s.Dir, "", readOnly), mount("", s.Root, "", readOnly), loopback(), syscall.PivotRoot(s.Root, s.Root+"/.old"), os.Chdir("/"), syscall.Unmount("/.old", syscall.MNT_DETACH), os.Chdir(s.Dir)); err != nil {
		return err
	}
	if err := errors.Join(syscall.Setgroups(nil), syscall.Setgid(s.GID), syscall.Setuid(s.UID)); err != nil {
		return err
	}
	return syscall.Exec(s.Args[0], s.Args, s.Env)
}

// loopback brings the one interface up that a new network has.
func loopback() error {
	socket, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_DGRAM, 0)
	if err != nil {
		return err
	}
	defer syscall.Close(socket)
	request := struct {
		name  [16]byte
		flags uint16
		_     [22]byte
	}{flags: syscall.IFF_UP}
	copy(request.name[:], "lo")
	if _, _, fault := syscall.Syscall(syscall.SYS_IOCTL, uintptr(socket), syscall.SIOCSIFFLAGS, uintptr(unsafe.Pointer(&request))); fault != 0 {
		return fault
	}
	return nil
}

// container is a running one.
type container struct {
	t       *testing.T
	command *exec.Cmd
	stderr  *bytes.Buffer
	env     []string
	program string
	ids     [2]string // user and group
}

// start runs the image's own command in namespaces of its own.
func start(t *testing.T, s spec) *container {
	t.Helper()
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	c := &container{t, exec.Command("/proc/self/exe"), new(bytes.Buffer), s.Env, cmp.Or(s.Program, "/usr/local/bin/flowrun"), [2]string{strconv.Itoa(s.UID), strconv.Itoa(s.GID)}}
	c.command.Env = []string{containerVariable + "=" + string(text)}
	c.command.Stdout, c.command.Stderr = c.stderr, c.stderr
	c.command.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWPID | syscall.CLONE_NEWNS | syscall.CLONE_NEWNET | syscall.CLONE_NEWIPC | syscall.CLONE_NEWUTS, Pdeathsig: syscall.SIGKILL,
	}
	if err := c.command.Start(); err != nil {
		t.Skipf("this machine makes no namespaces for a container: %v", err)
	}
	t.Cleanup(func() {
		if c.command.ProcessState == nil {
			_ = c.command.Process.Kill()
			_ = c.command.Wait() // killed
		}
		if t.Failed() {
			t.Logf("the container said:\n%s", c.stderr)
		}
	})
	return c
}

// exec runs flowrun beside the first process, as `docker exec` does.
func (c *container) exec(args ...string) (string, error) {
	c.t.Helper()
	words := []string{"--target", strconv.Itoa(c.command.Process.Pid), "--pid", "--mount", "--net", "--ipc", "--uts", "--root", "--wd", "--setuid", c.ids[0], "--setgid", c.ids[1], c.program}
	command := exec.Command("nsenter", append(words, args...)...)
	command.Env = c.env
	output, err := command.CombinedOutput()
	return string(output), err
}

// must is exec for what has to go well.
func (c *container) must(args ...string) string {
	c.t.Helper()
	output, err := c.exec(args...)
	if err != nil {
		c.t.Fatalf("flowrun %s: %v\n%s", strings.Join(args, " "), err, output)
	}
	return output
}

// until asks again and again, for half a minute.
func until(t *testing.T, what string, isSo func() bool) {
	t.Helper()
	untilWithin(t, 30*time.Second, what, isSo)
}

func untilWithin(t *testing.T, limit time.Duration, what string, isSo func() bool) {
	t.Helper()
	for end := time.Now().Add(limit); !isSo(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("it did not come to that: %s", what)
		}
	}
}

// process is one of the container, as /proc of the machine tells.
type process struct {
	pid, inside, parent int
	state, name         string
}

// processes are those in the container, the first one apart.
func (c *container) processes() []process {
	var found []process
	first := c.command.Process.Pid
	space, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/pid", first))
	if err != nil {
		return nil // it has ended
	}
	statuses, _ := filepath.Glob("/proc/[0-9]*/status")
	for _, file := range statuses {
		text, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		p := process{}
		var inside []string
		for line := range strings.Lines(string(text)) {
			words := strings.Fields(line)
			if len(words) < 2 {
				continue
			}
			switch words[0] {
			case "Name:":
				p.name = words[1]
			case "State:":
				p.state = words[1]
			case "Pid:":
				p.pid, _ = strconv.Atoi(words[1])
			case "PPid:":
				p.parent, _ = strconv.Atoi(words[1])
			case "NSpid:":
				inside = words[1:]
			}
		}
		if p.pid == first || len(inside) < 2 {
			continue
		}
		// A zombie has no namespaces to look at: it belongs to its parent.
		if of, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/pid", p.pid)); p.parent == first || err == nil && of == space {
			p.inside, _ = strconv.Atoi(inside[len(inside)-1])
			found = append(found, p)
		}
	}
	return found
}

// inside finds a process by its number in the container.
func (c *container) inside(pid int) (process, bool) {
	all := c.processes()
	i := slices.IndexFunc(all, func(p process) bool { return p.inside == pid })
	if i < 0 {
		return process{}, false
	}
	return all[i], true
}

// zombies are processes that have ended and that nobody waits for.
func (c *container) zombies() []process {
	return slices.DeleteFunc(c.processes(), func(p process) bool { return p.state != "Z" })
}

// end sends SIGTERM and returns the exit code.
func (c *container) end() int {
	c.t.Helper()
	if err := c.command.Process.Signal(syscall.SIGTERM); err != nil {
		c.t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { _ = c.command.Wait(); close(ended) }() // its code is looked at
	select {
	case <-ended:
	case <-time.After(time.Minute):
		c.t.Fatal("it does not end on SIGTERM")
	}
	return c.command.ProcessState.ExitCode()
}

// unpackLayers writes what an image holds into a folder, with its owners.
func unpackLayers(t *testing.T, image *opened, dir string) {
	t.Helper()
	for _, layer := range image.layers {
		for r := tar.NewReader(bytes.NewReader(layer)); ; {
			head, err := r.Next()
			if errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatal(err)
			}
			content, err := io.ReadAll(r)
			if err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(dir, head.Name)
			if err := writeEntry(path, entry{head.Name, head.Mode, content}); err != nil {
				t.Fatal(err)
			}
			if err := os.Lchown(path, head.Uid, head.Gid); err != nil {
				t.Fatal(err)
			}
		}
	}
}

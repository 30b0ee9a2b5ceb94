package main

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	pluginv1 "github.com/flowrun/flowrun/sdk/proto/pluginv1"
)

// attack does what the input says, and answers with what it got; "" = nothing.
func attack(r *pluginv1.ExecuteRequest) string {
	var input struct {
		What, Text string
		N          int
	}
	if err := json.Unmarshal(r.GetInput().GetJson(), &input); err != nil {
		return "got no input: " + err.Error()
	}
	switch input.What {
	case "environment":
		data, _ := os.ReadFile(fmt.Sprintf("/proc/%d/environ", input.N))
		return string(data)
	case "memory":
		return memoryOf(input.N)
	case "trace":
		return said(unix.PtraceAttach(input.N))
	case "descriptors":
		names, _ := os.ReadDir(fmt.Sprintf("/proc/%d/fd", input.N))
		return strings.Repeat("fd ", len(names))
	case "signal":
		return said(syscall.Kill(input.N, 0))
	case "read":
		data, err := os.ReadFile(input.Text)
		if err != nil {
			return ""
		}
		return "read " + string(data)
	case "list":
		names, _ := os.ReadDir(input.Text)
		return strings.Repeat("name ", len(names))
	case "write":
		file, err := os.OpenFile(input.Text, os.O_WRONLY|os.O_APPEND, 0)
		if err != nil {
			return ""
		}
		defer file.Close()
		_, err = file.WriteString("x")
		return said(err)
	case "replace":
		return said(os.Rename(filepath.Join(os.Getenv("TMPDIR"), "mine"), input.Text))
	case "sockets":
		return socketsOfOthers()
	case "user namespace":
		return said(userNamespace())
	case "key ring":
		_, err := unix.KeyctlGetKeyringID(unix.KEY_SPEC_USER_KEYRING, true)
		return said(err)
	case "connect":
		conn, err := net.DialTimeout("tcp", input.Text, 5*time.Second)
		if err != nil {
			return ""
		}
		defer conn.Close()
		return "connected"
	case "away":
		return away()
	case "forks":
		for range input.N {
			if err := exec.Command("sleep", "300").Start(); err != nil {
				time.Sleep(time.Millisecond)
			}
		}
		select {}
	}
	return "got a task that it does not know"
}

func said(err error) string {
	if err != nil {
		return ""
	}
	return "done"
}

// memoryOf reads the first page of a process's program, in two ways.
func memoryOf(pid int) string {
	maps, _ := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	address := uint64(0x400000) // where Go programs lie
	if _, err := fmt.Sscanf(string(maps), "%x-", &address); err == nil {
		return "the map of its memory"
	}
	page := make([]byte, 64)
	if file, err := os.Open(fmt.Sprintf("/proc/%d/mem", pid)); err == nil {
		defer file.Close()
		if n, _ := file.ReadAt(page, int64(address)); n > 0 {
			return "its memory"
		}
	}
	local := unix.Iovec{Base: &page[0], Len: uint64(len(page))}
	remote := unix.RemoteIovec{Base: uintptr(address), Len: len(page)}
	n, err := unix.ProcessVMReadv(pid, []unix.Iovec{local}, []unix.RemoteIovec{remote}, 0)
	if err == nil && n > 0 {
		return "its memory"
	}
	return ""
}

// socketsOfOthers looks for the paths of the host's sockets where the kernel lists
// them.
func socketsOfOthers() string {
	data, _ := os.ReadFile("/proc/net/unix")
	if strings.Contains(string(data), "/plugins/sock/") || strings.Contains(string(data), "flowrun") {
		return "the names of sockets"
	}
	if fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_SOCK_DIAG); err == nil {
		_ = unix.Close(fd)
		return "a list of sockets"
	}
	return ""
}

// userNamespace tries to get a namespace in a child, since a process with many threads
// may not unshare one.
func userNamespace() error {
	child := exec.Command("/bin/true")
	child.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER}
	return child.Run()
}

// away leaves a process behind that has another session where it can, an empty
// environment, no open files and no parent, and that is deaf. It answers with its pid.
func away() string {
	note := filepath.Join(os.Getenv("TMPDIR"), "away")
	script := `trap "" HUP TERM INT QUIT; echo $$ > ` + note + `.new; mv ` + note + `.new ` + note + `; exec <&- >&- 2>&- 3<&- 4<&-; while :; do sleep 1; done`
	start := func(session bool) error {
		// The parent in between ends at once.
		child := exec.Command("/bin/sh", "-c", `/bin/sh -c "$0" &`, script)
		child.Env = []string{"PATH=/bin:/usr/bin"}
		child.SysProcAttr = &syscall.SysProcAttr{Setsid: session}
		return child.Run()
	}
	if start(true) != nil && start(false) != nil {
		return ""
	}
	for range 500 {
		if pid, err := os.ReadFile(note); err == nil {
			return strings.TrimSpace(string(pid))
		}
		time.Sleep(10 * time.Millisecond)
	}
	return ""
}

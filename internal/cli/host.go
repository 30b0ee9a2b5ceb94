package cli

import (
	"crypto/rand"
	"fmt"
	"os"
	"os/signal"
	"os/user"
	"runtime/debug"
	"slices"
	"syscall"
	"time"

	"github.com/flowrun/flowrun/engine/collector"
	"github.com/flowrun/flowrun/engine/workspace"
)

// Host returns the system that this process runs on. A reader of our output that
// goes away must not kill an owner on the spot: its write fails instead.
func Host() System {
	closeMemory()
	if !slices.Contains(os.Args, "serve") { // a server and a plugin live long
		collector.DelayFirst(os.Environ())
	}
	collector.Bound(os.Environ())
	signal.Ignore(syscall.SIGPIPE)
	dir, err := os.Getwd()
	if err != nil {
		dir = "." // a folder that was removed: what needs it will say so
	}
	executable, err := os.Executable()
	if err != nil {
		executable = os.Args[0]
	}
	name, err := os.Hostname()
	if err != nil {
		name = "localhost" // it only labels owner.json
	}
	info, _ := debug.ReadBuildInfo()
	return System{
		User: unnamedUser(), Stdout: os.Stdout, Stderr: os.Stderr, Stdin: os.Stdin, Environ: os.Environ(), ControlGroup: controlGroup, Dir: dir, Executable: executable,
		Host: name, PID: os.Getpid(), Version: buildVersion(info), Build: buildOf(info), SDK: sdkOf(info), Now: time.Now, Entropy: rand.Reader, Location: time.Local,
		Signals:   func() (<-chan os.Signal, func()) { return notify(os.Interrupt, syscall.SIGTERM) },
		Terminate: func() (<-chan os.Signal, func()) { return notify(syscall.SIGTERM) },
		Reload:    func() (<-chan os.Signal, func()) { return notify(syscall.SIGHUP) },
		Exit:      os.Exit,
	}
}

// controlGroup is the folder of this process's own control group.
func controlGroup() string {
	groups, _ := os.ReadFile("/proc/self/cgroup")
	mounts, _ := os.ReadFile("/proc/self/mountinfo")
	return workspace.OwnControlGroup(string(groups), string(mounts))
}

// unnamedUser is userName where $USER does not say it.
func unnamedUser() string {
	if os.Getenv("USER") != "" {
		return ""
	}
	return userName()
}

// userName is the name of the process's user, or its number where it has no name.
func userName() string {
	current, err := user.Current()
	switch {
	case err != nil:
		return fmt.Sprintf("uid %d", os.Getuid())
	case current.Username == "":
		return "uid " + current.Uid
	}
	return current.Username
}

// notify delivers signals until stop is called.
func notify(which ...os.Signal) (signals <-chan os.Signal, stop func()) {
	channel := make(chan os.Signal, 2)
	signal.Notify(channel, which...)
	return channel, func() { signal.Stop(channel) }
}

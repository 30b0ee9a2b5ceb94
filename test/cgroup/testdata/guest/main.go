// Command guest is the first process of a virtual machine: it mounts cgroup v2, hands a
// control group to a user as systemd does with Delegate=, and runs the tests in it. Under
// the name of sleep it sleeps.
package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

func main() {
	if filepath.Base(os.Args[0]) == "sleep" {
		seconds, _ := strconv.Atoi(os.Args[1])
		time.Sleep(time.Duration(seconds) * time.Second)
		return
	}
	if err := prepare(); err != nil {
		fmt.Println("GUEST: prepare:", err)
	} else {
		run("root.service", 0, "trusted.delegate")
		run("user.service", 1000, "user.delegate")
		fmt.Println("GUEST: end")
	}
	_ = unix.Reboot(unix.LINUX_REBOOT_CMD_POWER_OFF)
}

func prepare() error {
	for _, mount := range [][3]string{{"proc", "/proc", "proc"}, {"sysfs", "/sys", "sysfs"}, {"tmpfs", "/tmp", "tmpfs"}, {"devtmpfs", "/dev", "devtmpfs"}, {"cgroup2", "/sys/fs/cgroup", "cgroup2"}} {
		if err := os.MkdirAll(mount[1], 0o755); err != nil {
			return err
		}
		if err := unix.Mount(mount[0], mount[1], mount[2], 0, ""); err != nil {
			return fmt.Errorf("mount %s: %w", mount[1], err)
		}
	}
	if err := os.Chmod("/tmp", os.ModeSticky|0o777); err != nil {
		return err
	}
	return os.WriteFile("/sys/fs/cgroup/cgroup.subtree_control", []byte("+memory +pids"), 0)
}

// run runs the tests and a command as a user in a group that was handed to it.
func run(name string, user int, mark string) {
	dir := filepath.Join("/sys/fs/cgroup", name)
	if err := os.Mkdir(dir, 0o755); err != nil {
		fmt.Println("GUEST:", err)
		return
	}
	for _, file := range []string{"", "cgroup.procs", "cgroup.subtree_control", "cgroup.threads"} {
		if err := os.Chown(filepath.Join(dir, file), user, user); err != nil {
			fmt.Println("GUEST:", err)
		}
	}
	if err := unix.Setxattr(dir, mark, []byte("1"), 0); err != nil {
		fmt.Println("GUEST: mark:", err)
	}
	home := "/tmp/" + name
	if err := os.Mkdir(home, 0o700); err != nil {
		fmt.Println("GUEST:", err)
	}
	_ = os.Chown(home, user, user)
	commands, err := os.ReadFile("/commands")
	if err != nil {
		fmt.Println("GUEST:", err)
	}
	for line := range strings.Lines(string(commands)) {
		start(strings.Fields(line), dir, home, user)
	}
}

func start(command []string, dir, home string, user int) {
	folder, err := os.Open(dir)
	if err != nil {
		fmt.Println("GUEST:", err)
		return
	}
	defer folder.Close()
	c := exec.Command(command[0], command[1:]...)
	out := io.MultiWriter(os.Stdout) // a pipe: nobody draws on the console
	c.Dir, c.Stdout, c.Stderr, c.WaitDelay = home, out, out, 5*time.Second
	c.Env = []string{"HOME=" + home, "TMPDIR=" + home, "PATH=/bin", "FLOWRUN_CGROUP=required", "FLOWRUN_CONFIG=/project/flowrun.yaml", "FLOWRUN_STATE=" + home + "/state"}
	c.SysProcAttr = &syscall.SysProcAttr{UseCgroupFD: true, CgroupFD: int(folder.Fd()), Setsid: true}
	if user != 0 {
		c.SysProcAttr.Credential = &syscall.Credential{Uid: uint32(user), Gid: uint32(user)}
	}
	fmt.Printf("GUEST: %s as %d: %v\n", strings.Join(command, " "), user, c.Run())
	// As systemd does between two starts: nobody is left, and the group holds processes again.
	_ = os.WriteFile(filepath.Join(dir, "cgroup.kill"), []byte("1"), 0)
	time.Sleep(200 * time.Millisecond)
	_ = os.WriteFile(filepath.Join(dir, "cgroup.subtree_control"), []byte("-memory -pids"), 0)
	_ = syscall.Rmdir(filepath.Join(dir, "engine"))
}

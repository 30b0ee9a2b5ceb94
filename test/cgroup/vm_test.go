//go:build linux

// Package cgroup shows in a virtual machine what control groups hold, on machines that
// hand none to the tests. `make cgroup` runs it.
package cgroup

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"
)

// commands run in the machine, each as root and as a user, in a group that was handed over.
const commands = `/tests -test.v -test.run Issue13_04_(TheGroup|ThePlugin|AGroup|WithoutDel|RequireRef)
/flowrun plugins show tasks
/flowrun run /project/eats_memory.yaml
/flowrun run /project/forks_without_end.yaml
`

// wanted are what they say, twice each.
var wanted = []string{
	`--- PASS: TestIssue13_04_TheGroupBoundsMemory`, `--- PASS: TestIssue13_04_TheGroupBoundsTasks`, `--- PASS: TestIssue13_04_TheGroupEndsForks`,
	`--- PASS: TestIssue13_04_ThePluginCanNotChangeItsGroup`, `--- PASS: TestIssue13_04_AGroupOfADeadEngineIsEnded`,
	`(?m)^ +crashed: plugin .*killed by flowrun: it used 2048 MiB of memory, 2048 MiB are allowed`, `(?m)^ +crashed: plugin .*killed by flowrun: it was [0-9]+ processes, 64 are allowed`,
	`(?m)^held +control group`, `(?m)^held +files`,
}

// TestIssue13_04_GroupsInAVirtualMachine: the tests of engine/pluginhost that need a group
// of their own, and the program itself.
func TestIssue13_04_GroupsInAVirtualMachine(t *testing.T) {
	if os.Getenv("FLOWRUN_CGROUP") != "vm" {
		t.Skip("SKIPPED: it boots a virtual machine: make cgroup")
	}
	if runtime.GOARCH != "amd64" {
		t.Skip("SKIPPED: the virtual machine is one of amd64")
	}
	dir := t.TempDir()
	kernel := kernelImage(t, dir)
	image := filepath.Join(dir, "initramfs")
	var files archive
	files.add("bin", 0o040755, nil)
	files.add("project", 0o040755, nil)
	for name, text := range project() {
		files.add("project/"+name, 0o100644, []byte(text))
	}
	for name, source := range map[string]string{"init": "./testdata/guest", "flowrun": "../../cmd/flowrun", "tests": "../../engine/pluginhost", "project/evil": "../evilplugins/testdata/evil"} {
		binary := filepath.Join(dir, filepath.Base(name))
		command := exec.Command("go", "build", "-o", binary, source)
		if name == "tests" {
			command = exec.Command("go", "test", "-c", "-o", binary, source)
		}
		command.Env = append(os.Environ(), "CGO_ENABLED=0")
		if output, err := command.CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", command.Args, err, output)
		}
		data, err := os.ReadFile(binary)
		if err != nil {
			t.Fatal(err)
		}
		files.add(name, 0o100755, data)
		if name == "init" {
			files.add("bin/sleep", 0o100755, data) // where plugins find programs
		}
	}
	files.add("commands", 0o100644, []byte(commands))
	if err := os.WriteFile(image, files.end(), 0o600); err != nil {
		t.Fatal(err)
	}
	output := boot(t, kernel, image)
	t.Log(output)
	for _, pattern := range wanted {
		if found := regexp.MustCompile(pattern).FindAllString(output, -1); len(found) != 2 {
			t.Errorf("%q stands %d times in what the machine said, want 2", pattern, len(found))
		}
	}
	if strings.Contains(output, "--- FAIL") || strings.Contains(output, "--- SKIP") || !strings.Contains(output, "GUEST: end") {
		t.Error("not all passed")
	}
}

// project has two plugins of test/evilplugins and a run of each.
func project() map[string]string {
	files := map[string]string{"flowrun.yaml": "plugins:\n"}
	for _, name := range []string{"eats_memory", "forks_without_end"} {
		files["flowrun.yaml"] += "  " + name + ": {source: ./evil}\n"
		files[name+".yaml"] = fmt.Sprintf("flowrun: v1\nname: %[1]s\nsteps:\n  - {id: s, uses: %[1]s.act, timeout: 4m, retry: {attempts: 1}}\n", name)
	}
	return files
}

// boot runs the machine until it ends and returns what it wrote.
func boot(t *testing.T, kernel, image string) string {
	t.Helper()
	accelerator, processor := "tcg", "max"
	if data, err := os.ReadFile("/proc/cpuinfo"); err == nil && regexp.MustCompile(`(?m)^flags.*\b(vmx|svm)\b`).Match(data) {
		if device, err := os.OpenFile("/dev/kvm", os.O_RDWR, 0); err == nil {
			device.Close()
			accelerator, processor = "kvm", "host"
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), 15*time.Minute)
	defer cancel()
	machine := exec.CommandContext(ctx, qemu(t), "-accel", accelerator, "-cpu", processor, "-m", "3584", "-smp", "2", "-nographic", "-no-reboot", "-nic", "none",
		"-kernel", kernel, "-initrd", image, "-append", "console=ttyS0 panic=-1 quiet")
	began := time.Now()
	output, err := machine.CombinedOutput()
	t.Logf("the machine (%s) ran for %s: %v", accelerator, time.Since(began).Round(time.Second), err)
	return strings.ReplaceAll(string(output), "\r", "")
}

// qemu is installed where this is allowed to.
func qemu(t *testing.T) string {
	t.Helper()
	const name = "qemu-system-x86_64"
	if path, err := exec.LookPath(name); err == nil {
		return path
	}
	if os.Getuid() == 0 {
		if output, err := exec.Command("apt-get", "install", "-y", "--no-install-recommends", "qemu-system-x86").CombinedOutput(); err != nil {
			t.Logf("apt-get install qemu-system-x86: %v\n%s", err, output)
		}
	}
	path, err := exec.LookPath(name)
	if err != nil {
		t.Skipf("SKIPPED: there is no %s (Debian: apt-get install qemu-system-x86)", name)
	}
	return path
}

// kernelImage is $FLOWRUN_KERNEL, or the one of Debian's package, which is fetched and
// not installed.
func kernelImage(t *testing.T, dir string) string {
	t.Helper()
	qemu(t)
	if path := os.Getenv("FLOWRUN_KERNEL"); path != "" {
		return path
	}
	script := `set -e
package=$(apt-cache depends linux-image-cloud-amd64 | sed -n 's/^ *Depends: //p' | head -1)
apt-get download "$package"
dpkg-deb -x linux-image-*.deb kernel`
	command := exec.Command("sh", "-c", script)
	command.Dir = dir
	if output, err := command.CombinedOutput(); err != nil {
		t.Skipf("SKIPPED: no kernel from Debian's packages (%v), and FLOWRUN_KERNEL names none:\n%s", err, output)
	}
	found, _ := filepath.Glob(filepath.Join(dir, "kernel/boot/vmlinuz-*"))
	if len(found) != 1 {
		t.Skipf("SKIPPED: the package has no kernel: %v", found)
	}
	return found[0]
}

// archive is an initramfs: cpio in its "newc" form.
type archive struct {
	data  bytes.Buffer
	count int
}

func (a *archive) add(name string, mode int, content []byte) {
	a.count++
	fmt.Fprintf(&a.data, "070701%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X",
		a.count, mode, 0, 0, 1, 0, len(content), 0, 0, 0, 0, len(name)+1, 0)
	a.data.WriteString(name + "\x00")
	a.pad()
	a.data.Write(content)
	a.pad()
}

func (a *archive) pad() {
	for a.data.Len()%4 != 0 {
		a.data.WriteByte(0)
	}
}

func (a *archive) end() []byte {
	a.add("TRAILER!!!", 0, nil)
	return a.data.Bytes()
}

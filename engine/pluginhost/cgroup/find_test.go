package cgroup

import "testing"

func TestIssue13_04_OwnGroupIsFound(t *testing.T) {
	const (
		pure    = "30 25 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n"
		hybrid  = "29 28 0:23 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n31 28 0:24 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"
		mounted = "30 25 0:26 /docker/ab /sys/fs/cgroup ro - cgroup2 cgroup rw\n"
		spaced  = `30 25 0:26 / /mnt/my\040groups rw - cgroup2 none rw` + "\n"
	)
	for name, c := range map[string]struct{ groups, mounts, want string }{
		"unified":             {"0::/system.slice/flowrun.service\n", pure, "/sys/fs/cgroup/system.slice/flowrun.service"},
		"hybrid":              {"9:name=systemd:/a\n4:memory:/b\n0::/c\n", hybrid, "/sys/fs/cgroup/unified/c"},
		"the root":            {"0::/\n", pure, "/sys/fs/cgroup"},
		"a part is mounted":   {"0::/docker/ab/x\n", mounted, "/sys/fs/cgroup/x"},
		"another part":        {"0::/docker/abc\n", mounted, ""},
		"above the namespace": {"0::/../x\n", pure, ""},
		"v1 alone":            {"4:memory:/b\n", pure, ""},
		"not mounted":         {"0::/a\n", "29 28 0:23 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n", ""},
		"white space":         {"0::/a\n", spaced, "/mnt/my groups/a"},
		"nothing":             {"", "", ""},
	} {
		if got := Own(c.groups, c.mounts); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

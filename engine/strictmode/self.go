package strictmode

import (
	"bytes"
	"os"
	"strconv"
)

// Self returns the identity of this process.
func Self() Identity {
	groups, _ := os.Getgroups() // without them its own group counts alone
	return Identity{UID: os.Geteuid(), Groups: append(groups, os.Getegid()), Unknown: unknownOwner()}
}

// unknownOwner is the owner that Linux shows for users of other namespaces, such as
// the real root in a container without rights; -1 where all users are known.
func unknownOwner() int {
	mapped, err := os.ReadFile("/proc/self/uid_map")
	if err != nil {
		return -1
	}
	if fields := bytes.Fields(mapped); len(fields) == 3 && string(fields[0]) == "0" && string(fields[1]) == "0" && string(fields[2]) == "4294967295" {
		return -1
	}
	text, err := os.ReadFile("/proc/sys/kernel/overflowuid")
	if err != nil {
		return -1
	}
	uid, err := strconv.Atoi(string(bytes.TrimSpace(text)))
	if err != nil {
		return -1
	}
	return uid
}

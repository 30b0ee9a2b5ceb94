// Package cgroup gives each plugin a control group of its own, where the group of the
// engine was handed to it (delegated): the kernel bounds the memory and the processes of
// all that is in a group, and ends all of it at once. It is files alone, of cgroup v2.
package cgroup

import (
	"path/filepath"
	"strings"
)

// Own returns the folder of a process's own group, from /proc/PID/cgroup and
// /proc/PID/mountinfo. "" = there is no cgroup v2, or the group can't be seen.
func Own(groups, mounts string) string {
	own := ""
	for line := range strings.Lines(groups) {
		if path, ok := strings.CutPrefix(strings.TrimRight(line, "\n"), "0::"); ok {
			own = path
		}
	}
	if own == "" || strings.HasPrefix(own, "/..") {
		return "" // above what this namespace shows
	}
	for line := range strings.Lines(mounts) {
		fields, kind, _ := strings.Cut(line, " - ")
		place := strings.Fields(fields)
		if len(place) < 5 || !strings.HasPrefix(kind, "cgroup2 ") {
			continue
		}
		root, at := unescape(place[3]), unescape(place[4])
		if below, exists := strings.CutPrefix(own, strings.TrimSuffix(root, "/")); exists && (below == "" || below[0] == '/') {
			return filepath.Join(at, below)
		}
	}
	return ""
}

// unescape reads a path of mountinfo, where white space is written in octal.
func unescape(path string) string {
	return strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace(path)
}

package pluginhost

import (
	"slices"
	"strings"
)

// passedOn are the names of the host's environment that every plugin gets.
func passedOn() []string {
	return []string{
		"PATH", "LANG", "TZ",
		"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY",
		"http_proxy", "https_proxy", "no_proxy", "all_proxy",
	}
}

// handshakeNames are the variables of go-plugin that a plugin needs; whatever
// else go-plugin may set one day is not handed on.
func handshakeNames() []string {
	return []string{"PLUGIN_MIN_PORT", "PLUGIN_MAX_PORT", "PLUGIN_PROTOCOL_VERSIONS", "PLUGIN_UNIX_SOCKET_DIR"}
}

// cleanEnviron builds a plugin's environment: the names that all get, those
// that were granted, and a HOME and TMPDIR of its own. Granted names of the
// host's own protocol are left out, so that a grant can't hand over a
// FLOWRUN_SECRET_ or pose as the handshake.
func cleanEnviron(environ, granted []string, home, tmp string) []string {
	names := passedOn()
	for _, name := range granted {
		reserved := strings.HasPrefix(name, "FLOWRUN_") || strings.HasPrefix(name, "PLUGIN_") || name == "HOME" || name == "TMPDIR"
		if !reserved && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	clean := []string{"HOME=" + home, "TMPDIR=" + tmp}
	for _, name := range names {
		if value, ok := lookup(environ, name); ok {
			clean = append(clean, name+"="+value)
		}
	}
	return clean
}

// lookup returns the last value of name, as a process would see it.
func lookup(environ []string, name string) (string, bool) {
	for _, entry := range slices.Backward(environ) {
		if value, ok := strings.CutPrefix(entry, name+"="); ok {
			return value, true
		}
	}
	return "", false
}

// only keeps the entries of environ whose names are listed.
func only(environ, names []string) []string {
	return slices.DeleteFunc(slices.Clone(environ), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return !slices.Contains(names, name)
	})
}

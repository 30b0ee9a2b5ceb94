package pluginhost

import (
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/pluginhost/confine"
)

// Part is one part of the sandbox.
type Part = confine.Part

// PartPorts is the part that is wanted where hosts were granted alone.
const PartPorts = confine.PartPorts

// PartResources is the part that is never required: what it bounds is watched where it
// is not held.
const PartResources = confine.PartResources

// Confinement tells part by part whether this system holds plugins in their sandbox.
func (h *Host) Confinement() []Part {
	h.probeOnce.Do(func() {
		h.parts = h.probe()
		if h.options.Sandbox != SandboxOff {
			h.parts = append(h.parts, h.openGroups())
		} else {
			h.parts = append(h.parts, confine.Part{Name: PartResources})
			for i := range h.parts {
				h.parts[i] = confine.Part{Name: h.parts[i].Name, Why: "`limits.sandbox` is off"}
			}
		}
		h.tellMissing()
	})
	return slices.Clone(h.parts)
}

// tellMissing says once what this system does not hold.
func (h *Host) tellMissing() {
	var missing []string
	for _, part := range h.parts {
		if !part.Held && slices.ContainsFunc(h.options.Sources, func(s Source) bool { return s.required(part.Name) }) {
			missing = append(missing, part.Name+" ("+part.Why+")")
		}
	}
	if len(missing) > 0 {
		h.options.Log.Warn("plugins are not held in their sandbox as a whole; `flowrun doctor` shows the parts", "missing", strings.Join(missing, ", "))
	}
}

// required are the parts without which SandboxRequire starts nothing. Ports are
// wanted where hosts were granted. A control group is wanted nowhere: memory and processes
// are watched without it.
func (s Source) required(part string) bool {
	switch part {
	case confine.PartFiles, confine.PartCalls, confine.PartGroup, confine.PartPrivileges:
		return true
	case confine.PartPorts:
		return s.Hosts != nil
	}
	return false
}

// CheckSandbox refuses, with a *PluginError, where SandboxRequire would start no plugin.
func (h *Host) CheckSandbox() *PluginError {
	for _, name := range h.names {
		if failure := h.lacksSandbox(name); failure != nil {
			return failure
		}
	}
	return nil
}

// lacksSandbox refuses to start a plugin without the sandbox that is required.
func (h *Host) lacksSandbox(plugin string) *PluginError {
	if h.options.Sandbox != SandboxRequire {
		return nil
	}
	for _, part := range h.Confinement() {
		if !part.Held && h.plugins[plugin].source.required(part.Name) {
			return &PluginError{
				Plugin: plugin, Reason: ReasonSandbox,
				Message: fmt.Sprintf("`limits.sandbox: require` asks for a sandbox, and this system does not hold %s: %s", part.Name, part.Why),
				Hint:    diag.Sayf("%s shows each part; run it where the kernel has them (Linux 6.12 or newer has all), or take `sandbox: require` out of flowrun.yaml", diag.Command{"doctor"}),
			}
		}
	}
	return nil
}

// rules are what the process may do; nil = all that its user may.
func (p *process) rules() *confine.Rules {
	h := p.unit.host
	if h.options.Sandbox == SandboxOff || !slices.ContainsFunc(h.Confinement(), func(part confine.Part) bool { return part.Held }) {
		return nil
	}
	s := p.unit.source
	secret := realPaths(h.options.StateDir, h.options.Secret...)
	private := append(slices.Clone(secret), realPaths("", h.options.Private...)...)
	run := confine.Read | confine.Run
	system := run
	if s.Commands != nil {
		system = confine.Read
	}
	paths := []confine.Path{
		{Name: p.exe.path, File: p.code.file, Rights: run},
		{Name: p.folders.home, Rights: system | confine.Write},
		{Name: p.folders.tmp, Rights: system | confine.Write},
		{Name: p.folders.socket, Rights: confine.Read | confine.Write},
	}
	for _, path := range systemPaths() {
		paths = append(paths, without(path, system, private)...)
	}
	paths = append(paths, readablePaths()...)
	paths = append(paths, h.interpreters(p.code.file, private, interpreterDepth)...)
	for _, command := range s.Commands {
		paths = append(paths, h.program(command, private)...)
		paths = append(paths, h.interpretersOf(command, private)...)
	}
	if p.exe.tree != "" {
		paths = append(paths, confine.Path{Name: p.exe.tree, Rights: run})
		paths = append(paths, h.program(p.exe.path, private)...)
	} else if folder := filepath.Dir(s.Path); s.Path != "" && !holdsAny(folder, append(slices.Clone(private), realPaths(h.home())...)) {
		paths = append(paths, confine.Path{Name: folder, Rights: system})
	}
	opened := s.Paths
	if h.options.Named != nil {
		opened = append(slices.Clone(opened), h.options.Named(s.Name)...)
	}
	for _, granted := range opened {
		rights := system
		if !granted.ReadOnly {
			rights |= confine.Write
		}
		paths = append(paths, without(granted.Name, rights, secret)...)
	}
	return &confine.Rules{Paths: paths, Ports: h.ports(s.Hosts), Capabilities: foreignFolders(h.dir)}
}

// systemPaths hold programs and libraries.
func systemPaths() []string {
	return []string{"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/opt", "/nix/store", "/gnu/store", "/snap"}
}

// readablePaths are what programs of all languages read besides: devices that are
// nobody's, certificates, names, zones, and what the machine has. Of /proc nothing is
// there that lists others, or their sockets.
func readablePaths() []confine.Path {
	var paths []confine.Path
	add := func(rights confine.Right, names ...string) {
		for _, name := range names {
			paths = append(paths, confine.Path{Name: name, Rights: rights})
		}
	}
	add(confine.Read|confine.Write, "/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")
	add(confine.Read,
		"/proc/cpuinfo", "/proc/meminfo", "/proc/stat", "/proc/uptime", "/proc/version", "/proc/loadavg", "/proc/filesystems", "/proc/sys",
		"/sys/fs/cgroup", "/sys/devices/system", "/sys/kernel/mm/transparent_hugepage",
		"/run/systemd/resolve", "/run/resolvconf", "/run/NetworkManager/resolv.conf", "/var/lib/ca-certificates")
	if os.Geteuid() != 0 {
		add(confine.Read, "/etc") // its secrets are closed to this user
		return paths
	}
	for _, name := range []string{
		"ssl", "pki", "crypto-policies", "openssl", "resolv.conf", "hosts", "nsswitch.conf", "host.conf", "gai.conf", "services", "protocols",
		"localtime", "timezone", "passwd", "group", "os-release", "lsb-release", "debian_version", "mime.types", "alternatives",
		"npmrc", "fonts", "default/locale", "inputrc", "profile", "bash.bashrc", "terminfo",
	} {
		add(confine.Read, "/etc/"+name)
	}
	families := []string{"ca-certificates", "ld.so.", "ld-musl-", "java", "python", "node", "locale"}
	entries, _ := os.ReadDir("/etc") // where nothing may be read, nothing is found
	for _, entry := range entries {
		if slices.ContainsFunc(families, func(family string) bool { return strings.HasPrefix(entry.Name(), family) }) {
			add(confine.Read, "/etc/"+entry.Name())
		}
	}
	return paths
}

// without is a path with all that it holds but for what is secret, places without
// links: a folder above a secret place is opened child by child.
func without(path string, rights confine.Right, secret []string) []confine.Path {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return nil // there is nothing
	}
	if slices.ContainsFunc(secret, func(place string) bool { return within(real, place) }) {
		return nil
	}
	if !slices.ContainsFunc(secret, func(place string) bool { return within(place, real) }) {
		return []confine.Path{{Name: real, Rights: rights}}
	}
	entries, err := os.ReadDir(real)
	if err != nil {
		return nil
	}
	var paths []confine.Path
	for _, entry := range entries {
		if entry.Type()&os.ModeSymlink == 0 { // what a link leads to was not granted
			paths = append(paths, without(filepath.Join(real, entry.Name()), rights, secret)...)
		}
	}
	return paths
}

// holdsAny reports whether one of the places, which have no links, lies in the folder,
// or is it.
func holdsAny(folder string, places []string) bool {
	real := realPath(folder)
	return slices.ContainsFunc(places, func(place string) bool { return within(place, real) })
}

// realPaths are paths without links. Those that are not named are left out.
func realPaths(first string, others ...string) []string {
	var real []string
	for _, path := range append([]string{first}, others...) {
		if path != "" {
			real = append(real, realPath(path))
		}
	}
	return real
}

func within(path, folder string) bool {
	return path == folder || folder == "/" || strings.HasPrefix(path, folder+"/")
}

// realPath is a path without links, as far as it is there.
func realPath(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	if parent := filepath.Dir(path); parent != path {
		return filepath.Join(realPath(parent), filepath.Base(path))
	}
	return filepath.Clean(path)
}

// home is the folder of the user.
func (h *Host) home() string {
	home, _ := lookup(h.options.Environ, "HOME")
	return home
}

// ports are those of granted hosts, of the proxies and of name servers; nil = all.
func (h *Host) ports(hosts []string) []uint16 {
	if hosts == nil {
		return nil
	}
	ports := []uint16{53}
	for _, host := range hosts {
		ports = append(ports, portsOf(host)...)
	}
	for _, name := range passedOn() {
		if proxy, ok := lookup(h.options.Environ, name); ok && strings.HasSuffix(strings.ToLower(name), "_proxy") && name != "NO_PROXY" && name != "no_proxy" {
			ports = append(ports, portsOf(proxy)...)
		}
	}
	slices.Sort(ports)
	return slices.Compact(ports)
}

// portsOf reads "host", "host:port" or a URL. A host alone stands for https, and on
// this machine for http too.
func portsOf(host string) []uint16 {
	scheme := ""
	if u, err := url.Parse(host); err == nil && u.Host != "" {
		scheme, host = u.Scheme, u.Host
	}
	name, port, err := net.SplitHostPort(host)
	if err == nil {
		number, err := strconv.ParseUint(port, 10, 16)
		if err != nil {
			return nil
		}
		return []uint16{uint16(number)}
	}
	if name == "" {
		name = strings.Trim(host, "[]")
	}
	ip := net.ParseIP(name)
	switch {
	case scheme == "http":
		return []uint16{80}
	case strings.HasPrefix(scheme, "socks"):
		return []uint16{1080}
	case scheme == "" && (name == "localhost" || ip != nil && ip.IsLoopback()):
		return []uint16{80, 443}
	}
	return []uint16{443}
}

package pluginhost

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flowrun/flowrun/engine/pluginhost/confine"
)

// TestIssue13_04_RequireRefuses a system that lacks a part, by its name and reason, and
// starts where all of them are held, or where nothing is required.
func TestIssue13_04_RequireRefuses(t *testing.T) {
	lacking := func(name string) func() []confine.Part {
		return func() []confine.Part {
			parts := confine.Probe()
			for i := range parts {
				parts[i].Held, parts[i].Why = parts[i].Name != name, "it is too old"
			}
			return parts
		}
	}
	for name, c := range map[string]struct {
		sandbox Sandbox
		lacks   string
		hosts   []string
		refused bool
	}{
		"nothing required":    {sandbox: SandboxAuto, lacks: confine.PartFiles},
		"files":               {sandbox: SandboxRequire, lacks: confine.PartFiles, refused: true},
		"calls":               {sandbox: SandboxRequire, lacks: confine.PartCalls, refused: true},
		"group":               {sandbox: SandboxRequire, lacks: confine.PartGroup, refused: true},
		"privileges":          {sandbox: SandboxRequire, lacks: confine.PartPrivileges, refused: true},
		"ports, not granted":  {sandbox: SandboxRequire, lacks: confine.PartPorts},
		"ports, with granted": {sandbox: SandboxRequire, lacks: confine.PartPorts, hosts: []string{"a.example"}, refused: true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, "good", func(o *Options) { o.Sandbox, o.Sources[0].Hosts = c.sandbox, c.hosts })
			w.host.probe = lacking(c.lacks)
			failure := w.host.CheckSandbox()
			if c.refused != (failure != nil) {
				t.Fatalf("checked: %v", failure)
			}
			err := w.host.Start(context.Background(), "evil")
			if !c.refused {
				if err != nil {
					t.Errorf("start: %v", err)
				}
				return
			}
			var refused *PluginError
			if !errors.As(err, &refused) || refused.Reason != ReasonSandbox || !strings.Contains(refused.Message, "does not hold "+c.lacks+": it is too old") {
				t.Errorf("start: %v", err)
			}
		})
	}
}

func TestIssue13_04_PortsOfGrantedHosts(t *testing.T) {
	h := New(Options{Environ: []string{"HTTPS_PROXY=http://proxy.example:3128", "no_proxy=x.example:9"}})
	for host, want := range map[string][]uint16{
		"api.example":           {53, 443, 3128},
		"api.example:8443":      {53, 3128, 8443},
		"https://api.example/x": {53, 443, 3128},
		"http://api.example":    {53, 80, 3128},
		"localhost":             {53, 80, 443, 3128},
		"[::1]":                 {53, 80, 443, 3128},
		"[::1]:7":               {7, 53, 3128},
	} {
		if diff := cmp.Diff(want, h.ports([]string{host})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", host, diff)
		}
	}
	if got := h.ports(nil); got != nil {
		t.Errorf("without granted hosts: %v", got)
	}
	if got := h.ports([]string{}); len(got) == 0 || got[0] != 53 {
		t.Errorf("with none of the hosts granted: %v", got)
	}
}

// TestIssue13_04_SecretPlacesAreLeftOut of whatever is granted above them, and of links.
func TestIssue13_04_SecretPlacesAreLeftOut(t *testing.T) {
	root := realPath(t.TempDir())
	for _, folder := range []string{"state/plugins", "data/deep", "other"} {
		if err := os.MkdirAll(filepath.Join(root, folder), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Join(root, "state"), filepath.Join(root, "link")); err != nil {
		t.Fatal(err)
	}
	names := func(paths []confine.Path) (found []string) {
		for _, path := range paths {
			relative, _ := filepath.Rel(root, path.Name)
			found = append(found, relative)
		}
		return found
	}
	secret := []string{filepath.Join(root, "state")}
	for granted, want := range map[string][]string{
		".": {"data", "other"}, "data": {"data"}, "state": nil, "state/plugins": nil, "link": nil, "link/plugins": nil, "none": nil,
	} {
		if diff := cmp.Diff(want, names(without(filepath.Join(root, granted), confine.Read, secret))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", granted, diff)
		}
	}
}

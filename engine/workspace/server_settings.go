package workspace

import (
	"net/netip"
	"path/filepath"

	"github.com/flowrun/flowrun/engine/project"
)

// DefaultListen is where a server listens that nobody told otherwise.
const DefaultListen = "127.0.0.1:7070"

// ServerSettings are `server` of flowrun.yaml.
type ServerSettings struct {
	Listen  string // host:port; "" = DefaultListen
	Hosts   []string
	TLSCert string // absolute paths; both or none
	TLSKey  string
	// TrustedProxies are the networks whose word on a client's address, host and
	// scheme is believed.
	TrustedProxies []netip.Prefix
}

// ServerSettings returns how flowrun.yaml wants the server to be reached.
func (p *Workspace) ServerSettings() ServerSettings {
	server := p.file.Server
	settings := ServerSettings{Listen: server.Listen, Hosts: server.Hosts, TrustedProxies: server.TrustedProxies}
	if server.TLSCert != "" {
		settings.TLSCert, settings.TLSKey = p.path(server.TLSCert), p.path(server.TLSKey)
	}
	return settings
}

// CheckListen says what is wrong with an address to listen on, "" when nothing is.
func CheckListen(address string) string { return project.CheckListen(address) }

// path resolves a path of flowrun.yaml against the project's root.
func (p *Workspace) path(name string) string {
	if filepath.IsAbs(name) {
		return filepath.Clean(name)
	}
	return filepath.Join(p.config.Dir, filepath.FromSlash(name))
}

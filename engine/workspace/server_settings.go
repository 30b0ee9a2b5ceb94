package workspace

import (
	"path/filepath"

	"github.com/flowrun/flowrun/engine/project"
)

// DefaultListen is where a server listens that nobody told otherwise.
const DefaultListen = "127.0.0.1:7070"

// ServerSettings are `server` of flowrun.yaml.
type ServerSettings = project.Server

// ServerSettings returns how flowrun.yaml wants the server to be reached, with
// absolute paths.
func (p *Workspace) ServerSettings() ServerSettings {
	server := p.file.Server
	if server.TLSCert != "" {
		server.TLSCert, server.TLSKey = p.path(server.TLSCert), p.path(server.TLSKey)
	}
	return server
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

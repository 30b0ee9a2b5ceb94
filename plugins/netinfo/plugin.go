// Package netinfo is the plugin of the IP-information service: IP geolocation,
// DNS records, the caller's own request headers, and domain registrations.
//
// What the service does is described in netinfo.yaml, and called by its recipes; what is
// here is computed. Row ids (I-01 ...) are those of the requirements, see
// docs/services/coverage.md. What the service's document leaves open and is decided here
// is listed in docs/services/netinfo.md.
package netinfo

import (
	_ "embed"
	"time"

	"github.com/flowrun/flowrun/plugins/internal/service"
	"github.com/flowrun/flowrun/sdk"
)

// Version is the version of the plugin.
const Version = "1.0.0"

// description is netinfo.yaml, read.
//
//go:embed netinfo.json
var description []byte

// Config is a connection's settings. The service knows no credential, so there
// is no setting for one (I-02).
type Config struct {
	sdk.HTTPSettings
}

// Options are what the plugin takes from outside.
type Options struct {
	Now func() time.Time // clock for days_to_expiry
}

// New returns the plugin with the real clock.
func New() *sdk.Plugin { return NewWith(Options{Now: time.Now}) }

// NewWith returns the plugin with what a test passes in.
func NewWith(o Options) *sdk.Plugin {
	return service.New("netinfo", Version, description, service.Own[Config]{
		Around: map[string]service.Around[Config]{"whois": whois(o.Now)},
		Narrow: map[string]func(sdk.Value) sdk.Value{"whois": narrowWhois},
	}, sdk.PathPrefix("/api/v1"))
}

// Package dictionary is the plugin of the English dictionary service: words with
// phonetics and Chinese definitions, synonyms, antonyms, abbreviations, listings
// by letter, search and statistics.
//
// What the service does is described in dictionary.yaml, and called by its recipes; what is
// here is computed. Row ids (D-01 ...) are those of the requirements, see docs/services/coverage.md.
// What the service's document leaves open and is decided here is listed in
// docs/services/dictionary.md.
package dictionary

import (
	"cmp"
	_ "embed"
	"time"

	"github.com/flowrun/flowrun/plugins/internal/recipe"
	"github.com/flowrun/flowrun/plugins/internal/service"
	"github.com/flowrun/flowrun/sdk"
)

// Version is the version of the plugin.
const Version = "1.0.0"

// description is dictionary.yaml, read.
//
//go:embed dictionary.json
var description []byte

// Config is a connection's settings. No credential is documented, so none is
// sent unless headers says so (D-19).
type Config struct {
	sdk.HTTPSettings
	Headers map[string]string `json:"headers,omitempty" secret:"true" doc:"Headers to send with every request, for an installation that wants some. Values may be secrets."`
}

// Options are what the plugin takes from outside.
type Options struct {
	Now  func() time.Time // clock of the rest of a window after a 429
	Rest time.Duration    // that is waited for at most; 0 = the whole window
}

// New returns the plugin with the real clock.
func New() *sdk.Plugin { return NewWith(Options{Now: time.Now}) }

// NewWith returns the plugin with what a test passes in.
func NewWith(o Options) *sdk.Plugin {
	windows := newWindows(o.Now, cmp.Or(o.Rest, window))
	return service.New("dictionary", Version, description, service.Own[Config]{
		With:   func(c *sdk.Call[Config]) recipe.With { return recipe.With{Headers: c.Config.Headers} },
		Around: map[string]service.Around[Config]{"": windows.around},
	}, sdk.PathPrefix("/api"), sdk.ValidateConfig(func(config Config) []sdk.Problem { return recipe.CheckHeaders(config.Headers) }))
}

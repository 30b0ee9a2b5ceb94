package plugins

import (
	"os"
	"runtime/debug"
	"testing"
	"time"

	"github.com/flowrun/flowrun/internal/testparallel"
	"github.com/flowrun/flowrun/plugins/analytics"
	"github.com/flowrun/flowrun/plugins/auth"
	"github.com/flowrun/flowrun/plugins/dictionary"
	"github.com/flowrun/flowrun/plugins/http"
	"github.com/flowrun/flowrun/plugins/netinfo"
	"github.com/flowrun/flowrun/plugins/tasks"
	"github.com/flowrun/flowrun/sdk"
)

// served are the plugins that the test binary serves when the engine executes it
// again. careless and forgetful are those of the negative controls.
func served() map[string]func() *sdk.Plugin {
	return map[string]func() *sdk.Plugin{
		"analytics": analytics.New, "auth": auth.New, "dictionary": impatient, "http": http.New, "netinfo": netinfo.New, "tasks": tasks.New,
		"careless": careless, "forgetful": forgetful,
	}
}

// impatient is the plugin that does not wait for the rest of the documented minute
// after a 429 without Retry-After.
func impatient() *sdk.Plugin {
	return dictionary.NewWith(dictionary.Options{Now: time.Now, Rest: 3 * time.Second})
}

// products are the names of the plugins that are shipped.
func products() []string {
	return []string{"analytics", "auth", "dictionary", "http", "netinfo", "tasks"}
}

func TestMain(m *testing.M) {
	if len(os.Args) == 4 && os.Args[1] == "plugins" && os.Args[2] == "serve" {
		served()[os.Args[3]]().Serve()
		return
	}
	debug.SetGCPercent(400) // collecting took a tenth of the processor
	testparallel.AtLeast(16)
	os.Exit(m.Run())
}

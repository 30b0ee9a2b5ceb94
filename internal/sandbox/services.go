package sandbox

import (
	"github.com/flowrun/flowrun/plugins/dictionary/dictionarysim"
	"github.com/flowrun/flowrun/plugins/netinfo/netinfosim"
)

// simulators returns every service that can be simulated, in the order of the
// plugins' names.
func simulators(o Options) []simulator {
	baseURL := func(url string) map[string]string { return map[string]string{"base_url": url} }
	return []simulator{
		{"dictionary", dictionarysim.New(dictionarysim.Options{Requests: rateRequests, Window: rateWindow, Now: o.Now}), baseURL},
		{"netinfo", netinfosim.New(netinfosim.Options{Requests: rateRequests, Window: rateWindow, Now: o.Now}), baseURL},
	}
}

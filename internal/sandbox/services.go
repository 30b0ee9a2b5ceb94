package sandbox

import (
	"net/url"

	"github.com/flowrun/flowrun/plugins/analytics/analyticssim"
	"github.com/flowrun/flowrun/plugins/auth/authsim"
	"github.com/flowrun/flowrun/plugins/dictionary/dictionarysim"
	"github.com/flowrun/flowrun/plugins/http/httpsim"
	"github.com/flowrun/flowrun/plugins/netinfo/netinfosim"
	"github.com/flowrun/flowrun/plugins/tasks/taskssim"
)

// Credentials that the simulators accept. They are no secrets.
const (
	tasksToken     = "sandbox-tasks-token"
	analyticsToken = "sandbox-analytics-token"
)

// simulators returns every service that can be simulated, in the order of the
// plugins' names.
func simulators(o Options, login *authsim.Sim) []simulator {
	return []simulator{
		{
			plugin:  "analytics",
			handler: analyticssim.New(analyticssim.Options{Token: analyticsToken, Requests: rateRequests, Window: o.Window, Now: o.Now}),
			config:  withToken(analyticsToken),
		},
		{
			plugin:  "auth",
			handler: login,
			tls:     true,
			config:  authConfig,
		},
		{
			plugin:  "dictionary",
			handler: dictionarysim.New(dictionarysim.Options{Requests: rateRequests, Window: o.Window, Now: o.Now}),
			config:  baseURL,
		},
		{
			plugin:  "http",
			handler: httpsim.New(httpsim.Options{Requests: rateRequests, Window: o.Window, Now: o.Now}),
			config:  anyService,
		},
		{
			plugin:  "netinfo",
			handler: netinfosim.New(netinfosim.Options{Requests: rateRequests, Window: o.Window, Now: o.Now}),
			config:  baseURL,
		},
		{
			plugin:  "tasks",
			handler: taskssim.New(taskssim.Options{Token: tasksToken, Requests: rateRequests, Window: o.Window, Now: o.Now}),
			config:  withToken(tasksToken),
		},
	}
}

// authorization is the simulator with the logins. It speaks HTTPS with a
// certificate that no browser trusts, so the page where a person decides has a
// plain address of its own.
func authorization(o Options, page string) *authsim.Sim {
	return authsim.New(authsim.Options{
		Requests: rateRequests, Window: o.Window, Now: o.Now, Random: o.Random, VerificationURL: page, AutoApproveAfter: o.ApproveAfter, Interval: o.Interval,
	})
}

func authConfig(at place) map[string]any {
	host := at.url
	if parsed, err := url.Parse(at.url); err == nil {
		host = parsed.Host
	}
	return map[string]any{
		"auth_url": at.url, "client_id": authsim.DefaultClientID, "client_secret": authsim.DefaultClientSecret,
		"management_url": at.url, "api_key": authsim.DefaultAPIKey, "scim_token": authsim.DefaultSCIMToken,
		"allow_hosts": []string{host}, "ca_file": at.caFile,
	}
}

func baseURL(at place) map[string]any { return map[string]any{"base_url": at.url} }

// anyService leads to the simulator of services of which nothing is known: it answers by
// what a request says of its answer, and stands for every host that a workflow names.
func anyService(at place) map[string]any {
	return map[string]any{"base_url": at.url, "private": true, "simulated": true}
}

func withToken(token string) func(place) map[string]any {
	return func(at place) map[string]any { return map[string]any{"base_url": at.url, "token": token} }
}

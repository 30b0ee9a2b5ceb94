package sdk

import (
	"slices"
	"time"

	pluginv1 "github.com/flowrun/flowrun/sdk/proto/pluginv1"
)

// LimitOption is an option of Limit.
type LimitOption func(*limit)

// limit is what the options of Limit say.
type limit struct {
	fixedWindow   bool
	maxConcurrent int
	scope         []string
}

// Limit declares a rate limit of the service. The engine keeps it for all runs
// and asks it before each call; a plugin never waits.
func Limit(name string, requests int, window time.Duration, opts ...LimitOption) Part {
	return partFunc(func(p *Plugin) {
		var l limit
		for _, opt := range opts {
			opt(&l)
		}
		switch {
		case p.hasLimiter(name):
			p.failf("limiter %q is declared twice", name)
		case !isName(name, nameLetters):
			p.failf("limiter name %q: use lower-case letters, digits and _", name)
		case requests < 0 || requests > 0 && window <= 0 || requests == 0 && l.maxConcurrent == 0:
			p.failf("limiter %q: %d requests in %s is no limit", name, requests, window)
		}
		p.limiters = append(p.limiters, &pluginv1.Limiter{
			Name: name, Requests: uint32(max(requests, 0)), Window: protoDuration(window), //nolint:gosec // refused above where it does not fit
			FixedWindow: l.fixedWindow, MaxConcurrent: uint32(l.maxConcurrent), Scope: l.scope, //nolint:gosec // as MaxConcurrent takes it
		})
	})
}

func (p *Plugin) hasLimiter(name string) bool {
	return slices.ContainsFunc(p.limiters, func(l *pluginv1.Limiter) bool { return l.Name == name })
}

// FixedWindow says that the service counts anew in each window, so that all
// requests of a window may be sent at once. Without it they are spread evenly.
func FixedWindow() LimitOption { return func(l *limit) { l.fixedWindow = true } }

// Scope names the config fields whose values share one bucket. The default is
// base_url.
func Scope(fields ...string) LimitOption {
	return func(l *limit) { l.scope = append(l.scope, fields...) }
}

// MaxConcurrent bounds how many calls may be open at the same time.
func MaxConcurrent(n int) LimitOption {
	return func(l *limit) { l.maxConcurrent = max(n, 0) }
}

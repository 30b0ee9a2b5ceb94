package doctor

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/url"
	"syscall"
	"time"

	"github.com/flowrun/flowrun/engine"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/telemetry"
)

// clockBefore is a time that no right clock shows any more.
var clockBefore = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// checkClock asks whether the time is right: schedules, tokens and signatures
// hang on it.
func (e *examination) checkClock(ctx context.Context, check string) {
	now := e.Config.Now()
	if now.Before(clockBefore) {
		e.fail(check, "", Machine, "it shows "+e.Words.Time(now), "set it: schedules, logins and signatures hang on it")
		return
	}
	if newest, ok := e.newestRun(ctx); ok && newest.Sub(now) > time.Minute {
		e.warn(check, "", fmt.Sprintf("it shows %s, and a run began at %s", e.Words.Time(now), e.Words.Time(newest)), "the clock went back: look at its time service")
		return
	}
	switch synchronised, ok := clockSynchronised(); {
	case ok && !synchronised:
		e.warn(check, "", "no time service keeps it right", "turn one on (systemd-timesyncd, chrony)")
	default:
		e.ok(check, "", "%s", e.Words.Time(now))
	}
}

// newestRun is when the newest run was started.
func (e *examination) newestRun(ctx context.Context) (time.Time, bool) {
	if e.store == nil {
		return time.Time{}, false
	}
	page, err := e.store.Runs(ctx, runs.Filter{Limit: 1})
	if err != nil || len(page.Items) == 0 {
		return time.Time{}, false
	}
	return page.Items[0].StartedAt, true
}

// checkZones looks whether time zones are known, and which rules hold.
func (e *examination) checkZones(_ context.Context, check string) {
	if _, err := time.LoadLocation("Europe/Berlin"); err != nil {
		e.fail(check, "", Machine, err.Error(), "install the time zone database (tzdata)")
		return
	}
	if e.project == nil {
		return
	}
	version, source := e.project.TZData()
	here := e.Config.Now().In(e.Zone).Format("MST, UTC-07:00")
	e.ok(check, "", "rules %s (%s); times are shown in %s", cmp.Or(version, "of unknown version"), source, here)
}

// checkKernel looks whether this kernel may damage a store.
func (e *examination) checkKernel(_ context.Context, check string) {
	if warning := engine.KernelWarning(); warning != "" {
		e.warn(check, "", warning, "update the kernel")
	}
}

// wantedFiles is how many files a process should be allowed to open: clients,
// plugins and streams.
const wantedFiles = 1024

// checkFiles looks how many files this process may open.
func (e *examination) checkFiles(_ context.Context, check string) {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return
	}
	if limit.Max < wantedFiles {
		e.warn(check, "", fmt.Sprintf("a process may open %d", limit.Max), fmt.Sprintf("allow %d: `ulimit -n`, or LimitNOFILE= of the unit", wantedFiles))
	}
}

// tracesPatience is how long the collector of traces may take to be reached.
const tracesPatience = 3 * time.Second

// checkTraces looks whether the collector of traces is there, where one is named.
func (e *examination) checkTraces(ctx context.Context, check string) {
	if !telemetry.Traced(e.Config.Environ) {
		return
	}
	name, text := telemetry.Collector(e.Config.Environ)
	endpoint, err := url.Parse(text)
	if err != nil || endpoint.Hostname() == "" {
		e.warn(check, "", name+" is no URL", "set it to that of the collector, like http://localhost:4318")
		return
	}
	port := cmp.Or(endpoint.Port(), map[string]string{"https": "443"}[endpoint.Scheme], "80")
	bounded, cancel := context.WithTimeout(ctx, tracesPatience)
	defer cancel()
	connection, err := (&net.Dialer{}).DialContext(bounded, "tcp", net.JoinHostPort(endpoint.Hostname(), port))
	if err != nil {
		e.warn(check, "", fmt.Sprintf("the collector at %s can't be reached: %v", endpoint.Host, err), "start it, or unset "+name)
		return
	}
	_ = connection.Close()
	e.ok(check, "", "the collector at %s can be reached", endpoint.Host)
}

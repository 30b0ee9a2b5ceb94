package cli

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"syscall"
	"time"

	"github.com/flowrun/flowrun/engine"
	"github.com/flowrun/flowrun/engine/telemetry"
)

// clockBefore is a time that no right clock shows any more.
var clockBefore = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// checkClock asks whether the time is right: schedules, tokens and signatures
// hang on it.
func (d *doctor) checkClock(ctx context.Context) {
	const check = "clock"
	now := d.app.sys.Now()
	if now.Before(clockBefore) {
		d.fail(check, "", exitInternal, "it shows "+d.app.times.Full(now), "set it: schedules, logins and signatures hang on it")
		return
	}
	if newest, ok := d.newestRun(ctx); ok && newest.Sub(now) > time.Minute {
		d.warn(check, "", fmt.Sprintf("it shows %s, and a run began at %s", d.app.times.Full(now), d.app.times.Full(newest)), "the clock went back: look at its time service")
		return
	}
	switch synchronised, known := clockSynchronised(); {
	case known && !synchronised:
		d.warn(check, "", "no time service keeps it right", "turn one on (systemd-timesyncd, chrony)")
	default:
		d.ok(check, "", "%s", d.app.times.Full(now))
	}
}

// newestRun is when the newest run was started.
func (d *doctor) newestRun(ctx context.Context) (time.Time, bool) {
	if d.session == nil {
		return time.Time{}, false
	}
	page, err := d.session.client.Runs(ctx, engine.RunFilter{Limit: 1})
	if err != nil || len(page.Items) == 0 {
		return time.Time{}, false
	}
	return page.Items[0].StartedAt, true
}

// checkZones looks whether time zones are known, and which rules hold.
func (d *doctor) checkZones(context.Context) {
	const check = "time zones"
	if _, err := time.LoadLocation("Europe/Berlin"); err != nil {
		d.fail(check, "", exitInternal, err.Error(), "install the time zone database (tzdata)")
		return
	}
	if d.project == nil {
		return
	}
	version, source := d.project.TZData()
	here := d.app.sys.Now().In(d.app.times.Location).Format("MST, UTC-07:00")
	d.ok(check, "", "rules %s (%s); times are shown in %s", orUnknown(version), source, here)
}

func orUnknown(text string) string {
	if text == "" {
		return "of unknown version"
	}
	return text
}

func (d *doctor) checkKernel(context.Context) {
	if warning := engine.KernelWarning(); warning != "" {
		d.warn("kernel", "", warning, "update the kernel")
	}
}

// wantedFiles is how many files a process should be allowed to open: clients,
// plugins and streams.
const wantedFiles = 1024

func (d *doctor) checkFiles(context.Context) {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return
	}
	if limit.Max < wantedFiles {
		d.warn("open files", "", fmt.Sprintf("a process may open %d", limit.Max), fmt.Sprintf("allow %d: `ulimit -n`, or LimitNOFILE= of the unit", wantedFiles))
	}
}

// tracesPatience is how long the collector of traces may take to be reached.
const tracesPatience = 3 * time.Second

// checkTraces looks whether the collector of traces is there, where one is named.
func (d *doctor) checkTraces(ctx context.Context) {
	const check = "traces"
	if !telemetry.Traced(d.app.sys.Environ) {
		return
	}
	name := "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"
	if d.app.env(name) == "" {
		name = "OTEL_EXPORTER_OTLP_ENDPOINT"
	}
	endpoint, err := url.Parse(d.app.env(name))
	if err != nil || endpoint.Hostname() == "" {
		d.warn(check, "", name+" is no URL", "set it to that of the collector, like http://localhost:4318")
		return
	}
	port := endpoint.Port()
	if port == "" {
		port = map[string]string{"https": "443"}[endpoint.Scheme]
	}
	if port == "" {
		port = "80"
	}
	bounded, cancel := context.WithTimeout(ctx, tracesPatience)
	defer cancel()
	connection, err := (&net.Dialer{}).DialContext(bounded, "tcp", net.JoinHostPort(endpoint.Hostname(), port))
	if err != nil {
		d.warn(check, "", fmt.Sprintf("the collector at %s can't be reached: %v", endpoint.Host, err), "start it, or unset "+name)
		return
	}
	_ = connection.Close()
	d.ok(check, "", "the collector at %s can be reached", endpoint.Host)
}

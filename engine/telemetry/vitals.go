package telemetry

import (
	"runtime"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/vitals"
)

// vitalsCollector reads figures that the engine keeps whenever a page is asked for.
type vitalsCollector struct{ options MetricsOptions }

// Describe says nothing: what is there depends on the store and the plugins.
func (v *vitalsCollector) Describe(chan<- *prometheus.Desc) {}

// Collect reads the engine. When its store can't be read, flowrun_up is 0 and the
// rest is left out.
func (v *vitalsCollector) Collect(out chan<- prometheus.Metric) {
	p := page{out}
	p.gauge("flowrun_build_info", "1, with the version of flowrun and of Go.", 1, "version", v.options.Version, "go", runtime.Version())
	if v.options.Spans != nil {
		sent, lost := v.options.Spans()
		const help = "Spans that were sent to the collector, and those that were lost."
		p.counter("flowrun_trace_spans_total", help, float64(sent), "result", "sent")
		p.counter("flowrun_trace_spans_total", help, float64(lost), "result", "lost")
	}
	if v.options.Vitals == nil {
		return
	}
	now, err := v.options.Vitals()
	const up = "1 when the store can be read, else 0."
	if p.gauge("flowrun_up", up, truth(err == nil)); err != nil {
		return
	}
	p.runs(now)
	p.store(now)
	p.plugins(now.Plugins)
	p.triggers(now.Triggers)
}

// page sends figures to whoever collects them.
type page struct{ out chan<- prometheus.Metric }

func (p page) gauge(name, help string, value float64, labels ...string) {
	p.send(prometheus.GaugeValue, name, help, value, labels)
}

func (p page) counter(name, help string, value float64, labels ...string) {
	p.send(prometheus.CounterValue, name, help, value, labels)
}

// send takes labels as name, value, name, value.
func (p page) send(kind prometheus.ValueType, name, help string, value float64, labels []string) {
	var keys, values []string
	for i := 0; i+1 < len(labels); i += 2 {
		keys, values = append(keys, labels[i]), append(values, labels[i+1])
	}
	sent, err := prometheus.NewConstMetric(prometheus.NewDesc(name, help, keys, nil), kind, value, values...)
	if err != nil {
		sent = prometheus.NewInvalidMetric(prometheus.NewDesc(name, help, keys, nil), err)
	}
	p.out <- sent
}

func (p page) runs(now *vitals.Vitals) {
	p.gauge("flowrun_runs_active", "Runs that are driven.", float64(now.Active))
	p.gauge("flowrun_runs_busy", "Driven runs that do more than wait for people or signals.", float64(now.Busy))
	p.gauge("flowrun_calls_in_flight", "Calls that were sent and are not answered.", float64(now.InFlight))
	for _, status := range runs.Statuses() {
		p.gauge("flowrun_runs", "Runs in the store, by status.", float64(now.Runs[status]), "status", string(status))
	}
}

func (p page) store(now *vitals.Vitals) {
	p.counter("flowrun_store_commits_total", "Transactions of the store that wrote.", float64(now.Store.Commits))
	p.counter("flowrun_store_fsyncs_total", "Times that the store's file was synced.", float64(now.Store.Fsyncs))
	p.counter("flowrun_store_writes_total", "Writes that the transactions held.", float64(now.Writes))
	p.counter("flowrun_store_written_bytes_total", "Bytes of written pages.", float64(now.Store.Bytes))
	p.gauge("flowrun_store_file_bytes", "Size of the store's file.", float64(now.Usage.File))
	p.gauge("flowrun_store_free_bytes", "Room inside the store's file.", float64(now.Usage.Free))
	p.gauge("flowrun_store_max_bytes", "Size that the store's file never exceeds.", float64(now.Usage.Max))
	p.gauge("flowrun_store_large_bytes", "What large values take beside the store's file.", float64(now.Usage.Large))
	p.gauge("flowrun_store_pressure", "0: there is room, 1: no run is accepted, 2: no call is sent either.", float64(now.Pressure))
	if now.Usage.DiskTotal > 0 {
		p.gauge("flowrun_disk_free_bytes", "Free bytes of the disk that holds the store.", float64(now.Usage.DiskFree))
		p.gauge("flowrun_disk_size_bytes", "Size of the disk that holds the store.", float64(now.Usage.DiskTotal))
	}
	if !now.Backup.IsZero() {
		p.gauge("flowrun_backup_timestamp_seconds", "When the last backup was made, in seconds since 1970.", float64(now.Backup.UnixMilli())/1000)
	}
}

// truth is 1 for what is so, else 0.
func truth(so bool) float64 {
	if so {
		return 1
	}
	return 0
}

func (p page) plugins(plugins []vitals.Plugin) {
	for _, plugin := range plugins {
		p.gauge("flowrun_plugin_running", "1 while the plugin's process runs: it starts when it is needed.", truth(plugin.PID > 0), "plugin", plugin.Name)
		p.gauge("flowrun_plugin_calls_in_flight", "Calls that the plugin has not answered.", float64(plugin.InFlight), "plugin", plugin.Name)
		p.counter("flowrun_plugin_starts_total", "Times that the plugin's process was started.", float64(plugin.Starts), "plugin", plugin.Name)
		p.counter("flowrun_plugin_crashes_total", "Times that the plugin's process ended by itself or did not start.", float64(plugin.Crashes), "plugin", plugin.Name)
	}
}

func (p page) triggers(triggers []runs.TriggerState) {
	for _, t := range triggers {
		p.gauge("flowrun_trigger_paused", "1 while the trigger is paused.", truth(t.Paused), "workflow", t.Workflow, "trigger", t.Trigger)
		p.gauge("flowrun_trigger_failures", "Runs of the trigger that failed in a row.", float64(t.Failures), "workflow", t.Workflow, "trigger", t.Trigger)
	}
}

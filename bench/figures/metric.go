package figures

import "time"

// Metric reads a figure of a sample; ok is false where it was not measured.
type Metric func(s Sample) (value float64, ok bool)

func milliseconds(s Sample) (float64, bool) {
	return float64(s.Wall) / float64(time.Millisecond), s.Wall > 0
}

func cpuMilliseconds(s Sample) (float64, bool) {
	return float64(s.CPU) / float64(time.Millisecond), s.CPU > 0
}

// perUnit are microseconds of wall time.
func perUnit(s Sample) (float64, bool) {
	return float64(s.Wall) / float64(time.Microsecond) / float64(s.Units), s.Wall > 0 && s.Units > 0
}

// perSecond is how many units were done in a second.
func perSecond(s Sample) (float64, bool) {
	return float64(s.Units) / s.Wall.Seconds(), s.Wall > 0
}

func tailMilliseconds(s Sample) (float64, bool) {
	return float64(s.P99) / float64(time.Millisecond), s.P99 > 0
}

func each(count func(s Sample) uint64) Metric {
	return func(s Sample) (float64, bool) { return float64(count(s)) / float64(s.Units), s.Units > 0 }
}

var (
	fsyncsEach = each(func(s Sample) uint64 { return s.Fsyncs })
	allocsEach = each(func(s Sample) uint64 { return s.Allocs })
)

func writtenEach(s Sample) (float64, bool) {
	return float64(s.Written) / 1024 / float64(s.Units), s.Units > 0 && s.Written > 0
}

func allocBytesEach(s Sample) (float64, bool) {
	return float64(s.AllocBytes) / 1024 / float64(s.Units), s.Units > 0 && s.AllocBytes > 0
}

func cpuEach(s Sample) (float64, bool) {
	return float64(s.CPU) / float64(time.Microsecond) / float64(s.Units), s.Units > 0 && s.CPU > 0
}

func pluginCPUEach(s Sample) (float64, bool) {
	return float64(s.PluginCPU) / float64(time.Microsecond) / float64(s.Units), s.Units > 0 && s.PluginCPU > 0
}

// anonymous is the memory of the process, in MiB.
func anonymous(s Sample) (float64, bool) { return float64(s.RssAnon) / (1 << 20), s.RssAnon > 0 }

// extra is a figure that one scenario alone has, divided by unit.
func extra(name string, unit float64) Metric {
	return func(s Sample) (float64, bool) {
		value, ok := s.Values[name]
		return value / unit, ok
	}
}

// quotient is one figure by another one of the same sample.
func quotient(a, b Metric) Metric {
	return func(s Sample) (float64, bool) {
		over, ok := a(s)
		under, there := b(s)
		if !ok || !there || under == 0 {
			return 0, false
		}
		return over / under, true
	}
}

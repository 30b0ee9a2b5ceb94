package pluginhost

import (
	"time"

	"github.com/flowrun/flowrun/engine/quota"
	"github.com/flowrun/flowrun/sdk/proto/handshake"
)

// withDefaults fills the zero fields and holds the rest below their ceilings.
func (l Limits) withDefaults() Limits {
	l.Start = bounded(l.Start, 10*time.Second, time.Minute)
	l.Grace = bounded(l.Grace, 5*time.Second, time.Minute)
	l.IdleStop = bounded(l.IdleStop, 5*time.Minute, 24*time.Hour)
	l.Message = bounded(l.Message, handshake.DefaultMessageLimit, handshake.MaxMessageLimit)
	l.LogLine = bounded(l.LogLine, 64<<10, 1<<20)
	l.LogRate = bounded(l.LogRate, 1<<20, 64<<20)
	l.LogTotal = bounded(l.LogTotal, int(l.Quotas.Of(quota.Log)), 64<<20)
	l.Events = bounded(l.Events, 1000, 100_000)
	l.Files = bounded(l.Files, 256, 65_536)
	l.FileSize = bounded(l.FileSize, 1<<30, 1<<40)
	l.Processes = bounded(l.Processes, 64, 4096)
	if l.Memory == 0 {
		l.Memory = 2 << 30
	}
	return l
}

func bounded[T time.Duration | int | uint64](value, normal, ceiling T) T {
	if value == 0 {
		return normal
	}
	return min(value, ceiling)
}

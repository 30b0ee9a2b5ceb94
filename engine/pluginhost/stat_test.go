package pluginhost

import (
	"os"
	"sync/atomic"
	"testing"
	"time"
)

// A call looks at no file: a bundled plugin's program is looked at once a second, any
// other when a server reloads or a command begins.
func TestACallLooksAtNoFile(t *testing.T) {
	began := time.Now()
	var passed, looks atomic.Int64
	w := newWorld(t, "good", func(o *Options) {
		o.Now = func() time.Time { return began.Add(time.Duration(passed.Load())) }
	})
	if err := w.host.ready(); err != nil {
		t.Fatal(err)
	}
	w.host.library.stat = func(path string) (os.FileInfo, error) {
		looks.Add(1)
		return os.Stat(path)
	}
	calls := func() int64 {
		before := looks.Load()
		for range 50 {
			w.ok("echo", `{"text":"a"}`)
		}
		return looks.Load() - before
	}
	w.ok("echo", `{"text":"a"}`)
	if n := calls(); n != 0 {
		t.Errorf("50 calls within a second looked at files %d times", n)
	}
	passed.Add(int64(lookEvery))
	if n := calls(); n != 1 {
		t.Errorf("50 calls of the next second looked at files %d times, want once", n)
	}
}

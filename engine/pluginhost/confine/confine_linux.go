package confine

import (
	"errors"
	"fmt"
	"runtime"

	"golang.org/x/sys/unix"
)

// Apply holds the calling thread, and what it starts from now on, to the rules. It
// can't be undone: the caller has locked its goroutine to the thread, and lets the
// thread end with it. What the kernel lacks is left out; Probe tells what. started is
// called by the thread when it has started its process, or could not.
func Apply(r Rules) (started func(), err error) {
	_, one, err := apply(r)
	if err != nil {
		one.close()
		return nil, err
	}
	return one.close, nil
}

// Probe tells what this kernel holds: it tries everything on a thread that ends.
func Probe() []Part {
	parts := make(chan []Part)
	OnThread(func() {
		tried, _, _ := apply(Rules{Ports: []uint16{}})
		parts <- tried
	})
	return <-parts
}

// OnThread runs f on a thread of its own, which ends with f. It is never the
// process's first thread, which can't end.
func OnThread(f func()) {
	go func() {
		runtime.LockOSThread()
		if unix.Gettid() != unix.Getpid() {
			f()
			return // never unlocked: the thread ends with this goroutine
		}
		// The next one gets another thread, since this one is held until it has.
		got := make(chan struct{})
		OnThread(func() {
			close(got)
			f()
		})
		<-got
		runtime.UnlockOSThread()
	}()
}

// apply does it and tells of each part. The error is of a part that this kernel
// has and that failed nevertheless.
func apply(r Rules) ([]Part, *oneClone, error) {
	var failed []error
	part := func(name string, err error) Part {
		switch {
		case err == nil:
			return Part{Name: name, Held: true}
		case !errors.Is(err, errLacks):
			failed = append(failed, fmt.Errorf("hold %s: %w", name, err))
		}
		return Part{Name: name, Why: err.Error()}
	}
	privileges := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
	land := restrict(r)
	if privileges == nil {
		privileges = dropCapabilities(r.Capabilities)
	}
	one, calls := filter(r.Pass, r.IntoGroup)
	parts := []Part{
		part(PartFiles, land.files), part(PartPorts, land.ports), part(PartSignals, land.signals),
		part(PartCalls, calls), part(PartGroup, calls), part(PartPrivileges, privileges),
	}
	return parts, one, errors.Join(failed...)
}

// errLacks marks what the kernel does not have.
var errLacks = errors.New("not in this kernel")

func lacks(format string, args ...any) error {
	return fmt.Errorf("%w: %s", errLacks, fmt.Sprintf(format, args...))
}

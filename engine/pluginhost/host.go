// Package pluginhost runs plugins as separate processes and calls them over
// gRPC: it finds and copies their executables, starts and supervises them,
// checks what they answer, and serves what they may ask of the host.
package pluginhost

import (
	"context"
	"log/slog"
	"os"
	"strings"
	"sync"

	"github.com/flowrun/flowrun/engine/pluginhost/cgroup"
	"github.com/flowrun/flowrun/engine/pluginhost/confine"
	"github.com/flowrun/flowrun/engine/pluginhost/gate"
)

// Host runs the plugins of one project. Safe for concurrent use.
type Host struct {
	options Options
	gate    *gate.Gate
	plugins map[string]*plugin
	names   []string
	spawn   *spawner
	table   processTable
	hashKey []byte // of config hashes
	judged  judgedConfigs

	probe     func() []confine.Part
	probeOnce sync.Once
	parts     []confine.Part // what the kernel holds
	groups    *cgroup.Tree   // of plugins; nil = they get none. Confinement sets it.

	setUpOnce sync.Once
	setUpErr  error
	dir       string // StateDir/plugins
	library   *library
	pids      pidRecord

	closing context.Context // ends when Close begins
	begun   context.CancelFunc
	life    context.Context // ends when Close stops waiting
	kill    context.CancelFunc
	running sync.WaitGroup // every goroutine of the host

	mu            sync.Mutex
	closed        bool
	ended         chan struct{} // closed when End is through
	clearing      sync.Once     // what is left then
	sockets       string
	removeSockets bool
}

// New returns a host that has started nothing yet. Close ends it.
func New(o Options) *Host {
	o.Limits = o.Limits.withDefaults()
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	h := &Host{options: o, gate: o.gate(), plugins: map[string]*plugin{}, spawn: newSpawner(), probe: confine.Probe, ended: make(chan struct{})}
	h.closing, h.begun = context.WithCancel(context.Background())
	h.life, h.kill = context.WithCancel(context.Background())
	for _, source := range o.Sources {
		h.plugins[source.Name] = newPlugin(h, source)
		h.names = append(h.names, source.Name)
	}
	return h
}

// splitAction cuts "netinfo.whois" into plugin and action.
func splitAction(full string) (plugin, action string) {
	plugin, action, _ = strings.Cut(full, ".")
	return plugin, action
}

// Status returns the state of a plugin; the zero Status for an unknown one.
func (h *Host) Status(plugin string) Status {
	p, ok := h.plugins[plugin]
	if !ok {
		return Status{}
	}
	return p.status()
}

// begin runs f in a goroutine that Close waits for. It reports whether the host
// was still open.
func (h *Host) begin(f func()) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return false
	}
	h.running.Go(f)
	return true
}

func (h *Host) isClosed() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.closed
}

// Rest ends the processes that no call is in flight in, in the background. The next call of
// a plugin starts another.
func (h *Host) Rest() {
	for _, p := range h.plugins {
		for _, u := range p.all() {
			u.restIdle()
		}
	}
}

// End ends all plugins: each is asked to end, and its process group is killed
// after the grace, or at once when ctx ends. Calls in flight end with kind
// canceled; calls that come later too. It returns when no process is left. A
// second End waits for the first; Close follows.
func (h *Host) End(ctx context.Context) {
	h.mu.Lock()
	if h.closed {
		h.mu.Unlock()
		<-h.ended
		return
	}
	h.closed = true
	h.mu.Unlock()
	h.begun()

	stop := context.AfterFunc(ctx, h.kill) // also for a process that was retired before
	var stopping sync.WaitGroup
	for _, p := range h.plugins {
		stopping.Go(p.answers.keep)
		for _, u := range p.all() {
			stopping.Go(func() { u.close(ctx) })
		}
	}
	stopping.Wait()
	stop()
	h.kill()
	close(h.ended)
}

// Close ends all plugins as End does, and returns when nothing of them is left: no folder,
// no goroutine. A second Close waits for the first.
func (h *Host) Close(ctx context.Context) error {
	h.End(ctx)
	h.clearing.Do(func() {
		h.running.Wait()
		h.spawn.close()
		if h.removeSockets {
			_ = os.RemoveAll(h.sockets)
		}
	})
	return nil
}

// close stops the unit's processes, also one that is just starting.
func (u *unit) close(ctx context.Context) {
	u.mu.Lock()
	starting := u.starting
	u.mu.Unlock()
	if starting != nil {
		<-starting
	}
	u.mu.Lock()
	if u.idle != nil {
		u.idle.Stop()
	}
	var all []*process
	if u.process != nil {
		all = append(all, u.process)
	}
	for p := range u.old {
		all = append(all, p)
	}
	u.mu.Unlock()
	var stopping sync.WaitGroup
	for _, p := range all {
		stopping.Go(func() { p.stop(ctx, u.host.options.Limits.Grace) })
	}
	stopping.Wait()
}

package pluginhost

// Prestart begins to start a plugin's process where none runs, and returns at once: the
// first call finds it ready, or waits for the rest of its start. It is asked for when it is
// known that there will be a call, before what that needs besides is there. Nothing is
// started that a call would not start, and what keeps it from starting is told to the first
// call. A plugin that is told something, that was attached, or that has crashed is left to
// its calls.
func (h *Host) Prestart(name string) {
	p, err := h.plugin(name)
	if err != nil || p.source.Settings != nil || p.source.Attach != "" {
		return
	}
	h.begin(func() {
		if u, err := p.unit(h.closing, ""); err == nil { // else whoever calls is told
			u.prestart()
		}
	})
}

// prestart begins a start for the first call to come.
func (u *unit) prestart() {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.dropped || u.process != nil || u.starting != nil || len(u.crashes) > 0 {
		return
	}
	if wait, failure := u.mayStart(); wait > 0 || failure != nil {
		return
	}
	u.begin()
	u.early = u.starting != nil
}

// begin starts the process in the background; u.starting stays nil where the host is
// closed. u.mu is held.
func (u *unit) begin() {
	u.starting = make(chan struct{})
	if !u.host.begin(u.start) {
		u.starting = nil
	}
}

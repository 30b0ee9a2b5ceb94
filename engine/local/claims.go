package local

import "sync"

// claims are of those who read a stored run to drive it, or to add to its journal: one at a
// time for each run. Who read it while another one drove it to its end would go on with what
// it was before. Safe for concurrent use.
type claims struct {
	mu   sync.Mutex
	held map[string]chan struct{} // by run; closed when it is given back
}

// take waits until nobody else has the claim of a run, and takes it. Who has it gives it
// back when the run is registered as driven, and takes no other one meanwhile.
func (c *claims) take(id string) (giveBack func()) {
	for {
		c.mu.Lock()
		other := c.held[id]
		if other == nil {
			break
		}
		c.mu.Unlock()
		<-other
	}
	defer c.mu.Unlock()
	if c.held == nil {
		c.held = map[string]chan struct{}{}
	}
	mine := make(chan struct{})
	c.held[id] = mine
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.held, id)
		close(mine)
	}
}

package killloop

import (
	"context"
	"fmt"
	"path/filepath"
	"sync/atomic"
	"time"
)

// backupRest is the time between two backups, for the load to go on.
const backupRest = 50 * time.Millisecond

// backUp makes backups while runs go on: it goes round its requests until the
// last one stands.
func (c *child) backUp(ctx context.Context) {
	var done atomic.Bool
	c.runs.Go(func() {
		defer done.Store(true)
		for n := 1; n <= c.role.Backups; n++ {
			time.Sleep(backupRest)
			for !c.follows() { // on a busy machine nothing may have begun yet
				time.Sleep(time.Millisecond)
			}
			c.tell(line{Kind: lineBackup, N: n}) // what was told before this line is older than the backup
			report, err := c.driver.backup(ctx, filepath.Join(c.role.Dir, fmt.Sprintf("backup-%d.db", n)))
			if err != nil {
				c.trouble("backup %d: %v", n, err)
				return
			}
			c.tell(line{Kind: lineBackup, N: n, Text: report})
		}
	})
	for n := 0; !done.Load(); n++ {
		r := c.role.Requests[n%len(c.role.Requests)]
		r.ID = fmt.Sprintf("%s-%d", r.ID, n)
		c.slots <- struct{}{}
		c.runs.Go(func() {
			defer func() { <-c.slots }()
			c.run(ctx, r)
		})
	}
}

// follows reports whether a run that was accepted goes on.
func (c *child) follows() (goesOn bool) {
	c.driven.Range(func(any, any) bool {
		goesOn = true
		return false
	})
	return goesOn
}

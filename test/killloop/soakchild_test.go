package killloop

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"time"

	"github.com/flowrun/flowrun/engine/runs"
)

// sample is what a child measures of itself.
type sample struct {
	At         time.Duration `json:"at"`
	Started    int64         `json:"started"`
	Ended      int64         `json:"ended"`
	Failed     int64         `json:"failed"`    // runs that did not succeed
	Anonymous  int64         `json:"anonymous"` // bytes of RssAnon: bbolt's pages are the file's
	Heap       int64         `json:"heap"`      // bytes that live after a collection
	Goroutines int           `json:"goroutines"`
	Files      int           `json:"files"` // descriptors
	Plugins    int           `json:"plugins"`
	PluginRSS  int64         `json:"plugin_rss"`     // bytes of their RssAnon
	Store      int64         `json:"store"`          // bytes of the file
	Rest       bool          `json:"rest,omitempty"` // nothing runs: taken before the load and after it
}

// soakCounts are what the samples tell of runs.
type soakCounts struct{ started, ended, failed atomic.Int64 }

// soak starts runs at a rate, and measures the process meanwhile. Nobody watches
// a run's records, and nobody keeps anything of it.
func (c *child) soak(ctx context.Context) {
	counts, began := &soakCounts{}, time.Now()
	for _, r := range c.role.Requests { // what is made at the first need is made
		c.soakRun(ctx, counts, request{ID: "warm-" + r.ID, Flow: r.Flow})
	}
	time.Sleep(time.Second)
	c.measure(counts, began, true)
	starts := time.NewTicker(time.Second / time.Duration(c.role.Rate))
	defer starts.Stop()
	samples := time.NewTicker(c.role.Every)
	defer samples.Stop()
	began = time.Now()
	for n := 0; time.Since(began) < c.role.Lasts; {
		select {
		case <-samples.C:
			c.measure(counts, began, false)
		case <-starts.C:
			r := c.role.Requests[n%len(c.role.Requests)]
			r.ID = fmt.Sprintf("%s-%d", r.ID, n)
			n++
			c.slots <- struct{}{}
			c.runs.Go(func() {
				defer func() { <-c.slots }()
				c.soakRun(ctx, counts, r)
			})
		}
	}
	c.runs.Wait()
	time.Sleep(2 * time.Second)
	c.measure(counts, began, true)
}

func (c *child) soakRun(ctx context.Context, counts *soakCounts, r request) {
	counts.started.Add(1)
	defer counts.ended.Add(1)
	id, err := c.driver.start(ctx, r)
	if err != nil {
		counts.failed.Add(1)
		c.trouble("start %s: %v", r.ID, err)
		return
	}
	updates, err := c.driver.watch(ctx, id)
	if err != nil {
		counts.failed.Add(1)
		c.trouble("watch %s: %v", r.ID, err)
		return
	}
	var last runs.Run
	for update := range updates {
		if update.Run != nil {
			last = *update.Run
		}
	}
	if last.Status != runs.RunSucceeded {
		counts.failed.Add(1)
		c.trouble("run %s is %s %s: %v", r.ID, last.Status, last.Paused, last.Error)
	}
}

// measure tells a sample.
func (c *child) measure(counts *soakCounts, began time.Time, rest bool) {
	runtime.GC()
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	s := &sample{
		At: time.Since(began), Started: counts.started.Load(), Ended: counts.ended.Load(), Failed: counts.failed.Load(),
		Anonymous: anonymous("self"), Heap: int64(memory.HeapAlloc), Goroutines: runtime.NumGoroutine(), Rest: rest,
	}
	if open, err := os.ReadDir("/proc/self/fd"); err == nil {
		s.Files = len(open)
	}
	tasks, _ := filepath.Glob("/proc/self/task/*/children") // the pattern is right
	for _, task := range tasks {
		pids, _ := os.ReadFile(task) // a thread may have ended
		for _, pid := range strings.Fields(string(pids)) {
			s.Plugins++
			s.PluginRSS += anonymous(pid)
		}
	}
	if info, err := os.Stat(filepath.Join(c.role.Dir, "state", "flowrun.db")); err == nil {
		s.Store = info.Size()
	}
	c.tell(line{Kind: lineSample, Sample: s})
}

// anonymous is the RssAnon of a process in bytes, 0 when it has ended.
func anonymous(pid string) (bytes int64) {
	file, err := os.Open("/proc/" + pid + "/status")
	if err != nil {
		return 0
	}
	defer file.Close()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		if _, err := fmt.Sscanf(lines.Text(), "RssAnon: %d kB", &bytes); err == nil {
			return bytes << 10
		}
	}
	return 0
}

package pluginhost

import (
	"fmt"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/flowrun/flowrun/engine/pluginhost/confine"
)

// crowdTick is how often the processes of a plugin are counted, in a list that may be
// tableAge old; where reading it takes much of a processor, since the machine has many,
// crowdRest times as long as that. Their memory is looked at each memoryTick.
const (
	crowdTick  = 500 * time.Millisecond
	tableAge   = crowdTick / 2
	crowdRest  = 50
	memoryTick = 100 * time.Millisecond
)

// processTable is the list of all processes, which is read once for all plugins that
// are counted at about the same time. Safe for concurrent use.
type processTable struct {
	mu   sync.Mutex
	at   time.Time
	rest time.Duration // until it is read again
	rows []processRow
}

type processRow struct{ pid, parent, group int }

// read returns the processes that live, as they were a moment before now at most.
func (t *processTable) read(now time.Time) []processRow {
	t.mu.Lock()
	defer t.mu.Unlock()
	if now.Sub(t.at) > t.rest {
		rows, cost := rowsOf(ours)
		t.at, t.rest, t.rows = now, max(tableAge, crowdRest*cost), rows
	}
	return t.rows
}

// watchCrowd kills a plugin that has started too many processes, or uses too much
// memory.
func (r *processRunner) watchCrowd(ended <-chan struct{}) {
	pid := r.cmd.Process.Pid
	var crowd []int
	counted := time.Duration(0)
	timer := time.NewTicker(memoryTick)
	defer timer.Stop()
	for {
		var now time.Time
		select {
		case <-ended:
			return
		case now = <-timer.C:
		}
		if counted += memoryTick; counted >= crowdTick {
			counted, crowd = 0, r.crowd(pid, now)
			for _, child := range crowd {
				limitChild(child, r.limits) // it may have been started before the plugin itself was limited
			}
		}
		if excess := r.excess(pid, crowd); excess != "" {
			r.end(excess, crowd)
		}
	}
}

// excess says which limit a plugin's processes are above, "" = none.
func (r *processRunner) excess(pid int, crowd []int) string {
	if limit := r.limits.Processes; limit >= 0 && len(crowd) >= limit {
		return fmt.Sprintf("it was %d processes, %d are allowed", len(crowd)+1, limit)
	}
	if r.group.Events().Refused {
		return r.tooManyTasks()
	}
	limit := r.limits.Memory
	if limit < 0 || r.group.BoundsMemory() {
		return ""
	}
	all := append([]int{pid}, crowd...)
	used := residentMemory(all)
	if used > limit && len(crowd) > 0 {
		if exact, ok := proportionalMemory(all); ok {
			used = exact
		}
	}
	if used <= limit {
		return ""
	}
	return tooMuchMemory(used, limit)
}

func tooMuchMemory(used, limit int64) string {
	return fmt.Sprintf("it used %s of memory, %s are allowed", mebibytes(used), mebibytes(limit))
}

func mebibytes(bytes int64) string { return fmt.Sprintf("%d MiB", (bytes+1<<20-1)>>20) }

// end kills the process and all that it started, and keeps the reason.
func (r *processRunner) end(reason string, crowd []int) {
	r.mu.Lock()
	again := r.killed != ""
	r.killed = reason
	r.mu.Unlock()
	if again {
		return
	}
	r.output.write("host", []byte("\nkilled by flowrun: "+reason+"\n"))
	r.group.Kill()
	r.killGroup()
	for _, pid := range crowd {
		_ = syscall.Kill(pid, syscall.SIGKILL) // those that left the group
	}
}

// markRounds is how often what carries the mark of an ended plugin is looked for:
// one that is just being killed may have started another.
const markRounds = 5

// quietRounds is how often in a row nothing has to be found: a list of children may miss
// one while another ends.
const quietRounds = 2

// killStrays kills what a plugin that has ended has started and what left its group. Where
// no process can leave it (confine.PartGroup) there is none, and nobody is looked at. Else
// they carry its mark, and are looked for where they can be: below this process, if it has
// adopted what lost its parents since before the plugin began, or on the whole machine.
func (r *processRunner) killStrays() {
	if r.keepsGroup() {
		return
	}
	where := livePIDs
	if r.adopts {
		where = ours
	}
	for round, quiet := 0, 0; round < markRounds && quiet < quietRounds; round++ {
		left := markedBy(where(), r.mark)
		for _, pid := range left {
			_ = syscall.Kill(pid, syscall.SIGKILL) // gone meanwhile: as it should be
		}
		if quiet++; len(left) > 0 {
			quiet = 0
		}
	}
}

// keepsGroup reports whether the plugin, and what it starts, can't leave the group of
// processes that ends with it.
func (r *processRunner) keepsGroup() bool {
	return r.ruleset != nil && slices.ContainsFunc(r.unit.host.Confinement(), func(part confine.Part) bool {
		return part.Name == confine.PartGroup && part.Held
	})
}

package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"runtime/pprof"
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"
)

func TestWhereTheTimeOfAStackIsCounted(t *testing.T) {
	const poll = "internal/poll.(*FD).Write"
	for want, stacks := range map[string][][]string{
		ofDisk: {
			{"internal/runtime/syscall/linux.Syscall6", "syscall.RawSyscall6", "syscall.Syscall", "golang.org/x/sys/unix.Fdatasync", "go.etcd.io/bbolt.fdatasync", "go.etcd.io/bbolt.(*Tx).Commit"},
			{"internal/runtime/syscall/linux.Syscall6", "syscall.RawSyscall6", "syscall.Syscall6", "syscall.pwrite", "syscall.Pwrite", "internal/poll.(*FD).Pwrite", "os.(*File).WriteAt"},
		},
		ofSockets:    {{"internal/runtime/syscall/linux.Syscall6", "syscall.RawSyscall6", "syscall.Syscall", "syscall.write", poll, "net.(*netFD).Write", "net.(*conn).Write", "google.golang.org/grpc/internal/transport.(*bufWriter).Flush"}},
		ofScheduling: {{"runtime.futex", "runtime.futexsleep", "runtime.notesleep", "runtime.stopm", "runtime.findRunnable", "runtime.schedule"}, {"internal/runtime/syscall/linux.Syscall6", "internal/runtime/syscall/linux.EpollWait", "runtime.netpoll"}},
		ofCollection: {{"runtime.scanobject", "runtime.gcDrain", "runtime.gcBgMarkWorker"}, {"runtime.gcAssistAlloc", "runtime.mallocgc", "github.com/flowrun/flowrun/engine/journal.Encode"}},
		ofAllocation: {{"runtime.memclrNoHeapPointers", "runtime.mallocgc", "runtime.newobject", "github.com/flowrun/flowrun/engine/journal.Encode"}},
		ofStacks:     {{"runtime.memmove", "runtime.copystack", "runtime.newstack", "runtime.morestack", "google.golang.org/grpc.(*Server).x"}},
		"bbolt":      {{"runtime.memmove", "go.etcd.io/bbolt.(*node).write", "github.com/flowrun/flowrun/engine/boltstore.(*committer).commit"}},
		"JSON":       {{"strconv.ParseInt", "encoding/json.(*decodeState).object", "github.com/flowrun/flowrun/engine/schema.Decode"}},
		"engine/eval": {{"sort.insertionSort", "github.com/flowrun/flowrun/engine/eval.(*program).run"},
			{"github.com/flowrun/flowrun/engine/eval.each[github.com/flowrun/flowrun/engine/schema.Value]"}},
		"gRPC and HTTP/2": {{"golang.org/x/net/http2.(*Framer).WriteData", "google.golang.org/grpc/internal/transport.x"}},
		ofRest:            {{"runtime.asyncPreempt"}, nil},
	} {
		for _, stack := range stacks {
			if got := place(stack); got != want {
				t.Errorf("%v is of %q, not %q", stack, got, want)
			}
		}
	}
}

// written is a profile whose samples are these stacks, 10 ms each.
func written(t *testing.T, stacks ...[]string) string {
	t.Helper()
	p := &profile.Profile{
		SampleType: []*profile.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}},
		PeriodType: &profile.ValueType{Type: "cpu", Unit: "nanoseconds"}, Period: 10_000_000,
	}
	for _, stack := range stacks {
		s := &profile.Sample{Value: []int64{1, 10_000_000}}
		for _, name := range stack {
			f := &profile.Function{ID: uint64(len(p.Function) + 1), Name: name}
			l := &profile.Location{ID: uint64(len(p.Location) + 1), Line: []profile.Line{{Function: f}}}
			p.Function, p.Location, s.Location = append(p.Function, f), append(p.Location, l), append(s.Location, l)
		}
		p.Sample = append(p.Sample, s)
	}
	name := filepath.Join(t.TempDir(), "x.pprof")
	file, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if err := p.Write(file); err != nil {
		t.Fatal(err)
	}
	return name
}

func samplesFile(t *testing.T, samples ...sample) string {
	t.Helper()
	var text strings.Builder
	for _, s := range samples {
		line, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		text.Write(append(line, '\n'))
	}
	name := filepath.Join(t.TempDir(), "samples.jsonl")
	if err := os.WriteFile(name, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func TestTheTableStandsInThePage(t *testing.T) {
	bolt, step := []string{"go.etcd.io/bbolt.(*node).write"}, []string{"github.com/flowrun/flowrun/engine/interp.(*run).step"}
	samples := samplesFile(t,
		sample{Program: "machine", Scenario: "machine"},
		sample{Program: "flowrun", Scenario: "S2", Units: 1000, Unit: "step", Profile: written(t, bolt, step, step)},
		sample{Program: "flowrun", Scenario: "S2", Units: 1000, Unit: "step", Profile: written(t, step)},
		sample{Program: "floor", Scenario: "S2", Variant: "merged unary", Units: 1000, Unit: "step", Profile: written(t, bolt)},
		sample{Program: "flowrun", Scenario: "S4", Variant: "64 at a time", Units: 1000, Unit: "run", Profile: written(t, bolt)},
	)
	doc := filepath.Join(t.TempDir(), "page.md")
	if err := os.WriteFile(doc, []byte("before\n"+beginMark+"\nold\n"+endMark+"\nafter\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second time over what the first has written
		if err := command([]string{"-doc", doc, samples}, nil); err != nil {
			t.Fatal(err)
		}
	}
	page, err := os.ReadFile(doc)
	if err != nil {
		t.Fatal(err)
	}
	want := "before\n" + beginMark + `

| S2, a step with an effect | us | share | floor |
|---|---|---|---|
| engine/interp | 15.0 | 75 % | 0.0 |
| bbolt | 5.0 | 25 % | 10.0 |
| less than 2 % each | 0.0 | 0 % | 0.0 |
| all | 20.0 | 100 % | 10.0 |

| S4, a run of 3 steps, 64 at a time | us | share | floor |
|---|---|---|---|
| bbolt | 10.0 | 100 % |  |
| less than 2 % each | 0.0 | 0 % |  |
| all | 10.0 | 100 % |  |

` + endMark + "\nafter\n"
	if string(page) != want {
		t.Errorf("the page is\n%s\nnot\n%s", page, want)
	}
}

func TestWhatCannotBeReadIsAnError(t *testing.T) {
	whole := sample{Program: "flowrun", Scenario: "S2", Units: 1, Unit: "step", Profile: written(t, []string{"main.main"})}
	lost := whole
	lost.Profile = filepath.Join(t.TempDir(), "lost.pprof")
	unmarked := filepath.Join(t.TempDir(), "page.md")
	if err := os.WriteFile(unmarked, []byte(endMark+beginMark), 0o600); err != nil {
		t.Fatal(err)
	}
	for want, args := range map[string][]string{
		"which samples?":            nil,
		"no sample has a profile":   {samplesFile(t, sample{Program: "machine"})},
		"lost.pprof":                {samplesFile(t, lost)},
		"has no line":               {"-doc", unmarked, samplesFile(t, whole)},
		"no such file or directory": {filepath.Join(t.TempDir(), "samples.jsonl")},
	} {
		if err := command(args, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, which does not say %q", args, err, want)
		}
	}
}

// TestAProfileOfThisProcess reads one that Go's own library wrote.
func TestAProfileOfThisProcess(t *testing.T) {
	name := filepath.Join(t.TempDir(), "own.pprof")
	file, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := pprof.StartCPUProfile(file); err != nil {
		t.Fatal(err)
	}
	// Work until the profiler has looked, however slow the machine is.
	kept := map[string]string{}
	for begun := time.Now(); time.Since(begun) < 300*time.Millisecond; {
		for i := range 1000 {
			kept[strings.Repeat("x", i%50)] = strings.Repeat("y", i)
		}
	}
	pprof.StopCPUProfile()
	file.Close()
	w := &work{spent: shares{}}
	if err := w.add(sample{Units: 1, Profile: name}); err != nil {
		t.Fatal(err)
	}
	if w.spent.sum() == 0 || w.spent[ofRest] == w.spent.sum() {
		t.Errorf("it tells %v", w.spent)
	}
}

//go:build linux && (amd64 || arm64)

package storefaults_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"syscall"

	"github.com/flowrun/flowrun/engine/boltstore"
	"github.com/flowrun/flowrun/engine/journal"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/store"
)

// job is what a child does to a store. It writes one line to its standard
// output for each acknowledgement ("ack WRITER COUNT", "open N"), with one
// system call.
type job struct {
	Path     string
	Script   script
	Sessions int // how often the store is opened; the operations are shared out
	Map      int // Options.InitialMmapSize: it decides how the file grows
	Max      int // Options.MaxSize

	Upkeep bool // backs the store up before it is closed, and compacts it afterwards

	Restore bool // at the end it restores the first backup

	Apart bool // control: a run and its fire are two transactions
	Early bool // control: acknowledges before the store has answered
	Again bool // control: after a failure it opens the store again and goes on
}

// failure is what a child prints about the store's refusal: "failed JSON".
type failure struct {
	During  string // the operation
	Text    string
	Stopped bool // *FailedError
	Full    bool
	Opening bool // the store was not opened
	NoSpace bool // of a creation
}

func say(format string, args ...any) {
	text := fmt.Sprintf(format+"\n", args...)
	_, _ = syscall.Write(1, []byte(text))
}

func sayFailed(during string, opening bool, err error) {
	f := failure{During: during, Text: err.Error(), Opening: opening}
	var failed *store.FailedError
	if errors.As(err, &failed) {
		f.Stopped, f.Full = true, failed.Full
	}
	f.NoSpace = errors.Is(err, store.ErrNoSpace)
	text, _ := json.Marshal(f)
	say("failed %s", text)
}

func work(argument string) int {
	var j job
	if err := json.Unmarshal([]byte(argument), &j); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	for session := range j.Sessions {
		if !j.session(session) && !j.Again {
			break
		}
	}
	if j.Restore {
		say("restoring")
		if _, err := boltstore.Restore(context.Background(), backupPath(j.Path, 1), j.Path, j.options()); err != nil {
			sayFailed("restore", true, err)
		} else {
			say("ack %s 1", restore)
		}
	}
	say("end")
	return 0
}

func (j job) options() boltstore.Options {
	options := storeOptions(j.Map)
	options.MaxSize = j.Max
	return options
}

// session opens the store and does its share of the operations. It reports
// whether all of them were acknowledged.
func (j job) session(session int) bool {
	s, err := boltstore.Open(j.Path, j.options())
	if err != nil {
		sayFailed("open", true, err)
		return false
	}
	say("open %d", session+1)
	from, to := j.Script.Ops*session/j.Sessions, j.Script.Ops*(session+1)/j.Sessions
	whole := j.operations(s, from, to)
	if j.Upkeep {
		if _, err := s.Backup(context.Background(), backupPath(j.Path, session+1)); err != nil {
			sayFailed("backup", false, err)
		} else {
			say("ack %s %d", backups, session+1)
		}
	}
	if err := s.Close(); err != nil {
		sayFailed("close", false, err)
		return false
	}
	if j.Upkeep {
		if _, _, err := boltstore.Compact(context.Background(), j.Path, j.options()); err != nil {
			sayFailed("compact", true, err)
		}
	}
	return whole
}

// The writers of the acknowledgements of upkeep.
const (
	backups writer = "backup"
	restore writer = "restore"
)

func backupPath(path string, n int) string { return fmt.Sprintf("%s.backup-%d", path, n) }

// operations lets all writers go on at the same time. After a failure each of
// them tries once more: the store must not write again.
func (j job) operations(s *boltstore.Store, from, to int) bool {
	var all sync.WaitGroup
	var mu sync.Mutex
	whole := true
	for _, w := range j.Script.writers() {
		all.Go(func() {
			for op := from; op < to; op++ {
				if err := j.operation(s, w, op); err != nil {
					mu.Lock()
					defer mu.Unlock()
					sayFailed(fmt.Sprintf("%s %d", w, op), false, err)
					if again := j.operation(s, w, op); again == nil {
						say("went on %s %d", w, op)
					}
					whole = false
					return
				}
			}
		})
	}
	all.Wait()
	return whole
}

func (j job) operation(s *boltstore.Store, w writer, op int) error {
	acknowledge := func() { say("ack %s %d", w, op+1) }
	switch {
	case j.Early:
		acknowledge()
		return j.Script.apply(s, w, op, func() {})
	case j.Apart && w == fires && op%fireOps == fireRun:
		if err := j.Script.applyFireApart(s, op); err != nil {
			return err
		}
		acknowledge()
		return nil
	}
	return j.Script.apply(s, w, op, acknowledge)
}

// apply does operation op of a writer and calls done when the store has
// acknowledged it.
func (s script) apply(file *boltstore.Store, w writer, op int, done func()) (err error) {
	if n, ok := w.run(); ok {
		return s.applyRun(file, w, n, op, done)
	}
	switch w {
	case rows:
		err = s.applyRow(file, op)
	case memory:
		_, err = file.Change(s.stateOp(op))
	case brief:
		err = s.applyBrief(file, op)
	case fires:
		err = s.applyFire(file, op)
	}
	if err == nil {
		done()
	}
	return err
}

// applyRun makes a run, then adds a record, a row and a log line at a time. The
// acknowledgement is written on the committer's own goroutine: nothing else is
// written by the store before it.
func (s script) applyRun(file *boltstore.Store, w writer, n, op int, done func()) error {
	if op == 0 {
		if _, err := file.CreateRun(context.Background(), s.row(n, 1, false), s.plan(n), fmt.Sprint("request ", n), s.record(w, n, 0, 1)); err != nil {
			return err
		}
		done()
		return nil
	}
	answered := make(chan error, 1)
	file.Append(idAt(n), []*journal.Record{s.record(w, n, op, op+1)}, s.row(n, op+1, false), []runs.Log{line(op + 1)}, func(err error) {
		if err == nil {
			done()
		}
		answered <- err
	})
	return <-answered
}

func (s script) applyRow(file *boltstore.Store, op int) error {
	key, value := s.rowOp(op)
	if value == nil {
		return file.KV().Delete("tokens", key, nil)
	}
	_, err := file.KV().Put("tokens", key, value, nil)
	return err
}

func (s script) applyBrief(file *boltstore.Store, op int) error {
	n := firstBrief + op/briefOps
	switch op % briefOps {
	case 0:
		_, err := file.CreateRun(context.Background(), s.row(n, 1, false), s.plan(n), "", s.record(brief, n, op, 1))
		return err
	case 1:
		answered := make(chan error, 1)
		records := []*journal.Record{s.record(brief, n, op, 2), s.record(brief, n, op+1, 3)}
		file.Append(idAt(n), records, s.row(n, 3, true), []runs.Log{line(2), line(3)}, func(err error) { answered <- err })
		return <-answered
	default:
		return file.DeleteRun(idAt(n))
	}
}

// acknowledged counts the acknowledgements of each writer.
type acknowledged map[writer]int

// opened is the writer of the acknowledgement of Open.
const opened writer = "open"

// hear takes a line that a child has printed.
func (a acknowledged) hear(text string) {
	var w writer
	var count int
	switch {
	case strings.HasPrefix(text, "open "):
		if _, err := fmt.Sscanf(text, "open %d", &count); err == nil {
			a[opened] = count
		}
	case strings.HasPrefix(text, "ack "):
		if _, err := fmt.Sscanf(text, "ack %s %d", &w, &count); err == nil {
			a[w] = count
		}
	}
}

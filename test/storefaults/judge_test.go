//go:build linux && (amd64 || arm64)

package storefaults_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/flowrun/flowrun/engine/boltstore"
	"github.com/flowrun/flowrun/engine/store"
)

// A judge is a child process that opens store files one after the other and
// says what it finds. A file that makes it die or hang costs only the judge.

// question is about one file.
type question struct {
	Path   string
	Script script
	Acks   acknowledged
	Slack  int
	Map    int
	Check  bool // with CheckFile before
	Write  bool // and it must still take a write
	Sealed bool // it is opened by its seal, and what no read has met must be told by the next open
	Apart  bool // the control has written it: rows of runs do not name their fires

	// A store of an older schema: what this file holds must be in it once it was
	// opened, and the backup beside it must be this one.
	Migrated, Original string
	Older              uint64 // its schema

	Plain string // read with bbolt alone and compared with this file; "" = with the store
}

// The verdicts.
const (
	whole   = "whole"   // all is there, nothing else is
	refused = "refused" // the store was not opened: it is damaged, and the error names the file
	told    = "told"    // a read told of damage and named the file; the rest is right
	changed = "changed" // something else was read than was written
	broken  = "broken"  // an error that tells of no damage
	died    = "died"    // the process
	hung    = "hung"
)

type verdict struct{ Verdict, Detail string }

func judge(in io.Reader, out io.Writer) int {
	cache, migrated := new(memo), new(moved)
	decoder, encoder := json.NewDecoder(in), json.NewEncoder(out)
	for {
		var q question
		if err := decoder.Decode(&q); errors.Is(err, io.EOF) {
			return 0
		} else if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 2
		}
		if err := encoder.Encode(q.answer(cache, migrated)); err != nil {
			return 2
		}
	}
}

func (q *question) answer(cache *memo, migrated *moved) verdict {
	if q.Plain != "" {
		return comparePlain(q.Path, q.Plain)
	}
	options, bySeal := storeOptions(q.Map), ""
	if q.Migrated != "" {
		return q.migration(options, migrated)
	}
	if q.Check {
		if detail := check(q.Path, options); detail != "" {
			return verdict{broken, detail}
		}
	}
	if detail := q.backups(options); detail != "" {
		return verdict{broken, detail}
	}
	if q.Sealed {
		if err := restamp(q.Path); err != nil {
			return verdict{broken, "restamp: " + err.Error()}
		}
	}
	file, err := boltstore.Open(q.Path, options)
	switch {
	case errors.Is(err, store.ErrCorrupt) && strings.Contains(err.Error(), q.Path):
		return verdict{refused, err.Error()}
	case err != nil:
		return verdict{broken, "open: " + err.Error()}
	}
	if q.Sealed && file.UnreadPages() > 0 {
		bySeal = "by its seal: "
	}
	v := &verifier{store: file, path: q.Path, script: q.Script, acks: q.Acks, slack: q.Slack, apart: q.Apart, cache: cache}
	again := v.verifyEpoch()
	if q.Write {
		if _, err := file.KV().Put("after", "crash", []byte(`1`), nil); err != nil {
			v.failed("write", err)
		}
	}
	if err := file.Close(); err != nil {
		v.failed("close", err)
	}
	switch {
	case len(v.changed) > 0:
		return verdict{changed, strings.Join(v.changed, "; ")}
	case len(v.broken) > 0:
		return verdict{broken, strings.Join(v.broken, "; ")}
	case len(v.told) > 0:
		return verdict{told, bySeal + strings.Join(v.told, "; ")}
	case q.Sealed:
		return q.behind(options, bySeal)
	case q.Write:
		// What was written beside damage that nobody was told of has not made more of it.
		if detail := check(q.Path, options); detail != "" {
			return verdict{changed, "after a write: " + detail}
		}
	}
	return verdict{whole, again}
}

// backups looks at the backups beside the file: one that has its name is whole,
// with its checksum, and one that was acknowledged has its name.
func (q *question) backups(options boltstore.Options) string {
	for n := 1; n <= q.Acks[backups]+q.Slack; n++ {
		path := backupPath(q.Path, n)
		content, err := os.ReadFile(path)
		if errors.Is(err, os.ErrNotExist) && n > q.Acks[backups] {
			continue
		}
		if err != nil {
			return fmt.Sprintf("backup %d: %v", n, err)
		}
		sidecar, err := os.ReadFile(path + ".sha256")
		if err != nil || !strings.HasPrefix(string(sidecar), hashOf(content)+" ") {
			return fmt.Sprintf("the checksum %q of backup %d is wrong: %v", sidecar, n, err)
		}
		if detail := check(path, options); detail != "" {
			return fmt.Sprintf("backup %d: %s", n, detail)
		}
	}
	return ""
}

// check returns what CheckFile has against a file that is there.
func check(path string, options boltstore.Options) string {
	if _, err := os.Stat(path); err != nil {
		return ""
	}
	report, err := boltstore.CheckFile(context.Background(), path, options)
	switch {
	case err != nil:
		return "check: " + err.Error()
	case len(report.Problems) > 0:
		return fmt.Sprintf("check: %+v", report.Problems)
	}
	return ""
}

// storeOptions are those of all suites. The watermarks are out of the way: where
// a disk is to become full it shall become so.
func storeOptions(mapSize int) boltstore.Options {
	return boltstore.Options{
		InitialMmapSize: mapSize, Timeout: time.Second,
		FreeSpace: func(string) (free, total uint64, err error) { return 1 << 40, 1 << 40, nil },
	}
}

// court asks one judge after the other: it starts a new one when one has died.
type court struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *bufio.Scanner
	errors *tail
}

func newCourt(t *testing.T) *court {
	c := &court{}
	t.Cleanup(c.dismiss)
	return c
}

func (c *court) start() error {
	c.cmd = exec.Command("/proc/self/exe")
	c.cmd.Env = childEnv("judge", "")
	c.errors = &tail{}
	c.cmd.Stderr = c.errors
	in, err := c.cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	c.in, c.out = in, bufio.NewScanner(out)
	c.out.Buffer(nil, 16<<20)
	return c.cmd.Start()
}

// patience is how long a judge may look at one file. bbolt alone, that controls
// ask, does not come to an end with some files.
func (q *question) patience() time.Duration {
	if q.Plain != "" {
		return 3 * time.Second
	}
	return time.Minute
}

// ask returns the verdict about one file.
func (c *court) ask(q question) verdict {
	if c.cmd == nil {
		if err := c.start(); err != nil {
			c.cmd = nil
			return verdict{broken, "start a judge: " + err.Error()}
		}
	}
	cmd, late := c.cmd, false
	var mu sync.Mutex
	timer := time.AfterFunc(q.patience(), func() {
		mu.Lock()
		defer mu.Unlock()
		late = true
		_ = cmd.Process.Kill()
	})
	err := json.NewEncoder(c.in).Encode(q)
	if err == nil && c.out.Scan() {
		var v verdict
		if err = json.Unmarshal(c.out.Bytes(), &v); err == nil {
			timer.Stop()
			return v
		}
	}
	timer.Stop()
	c.dismiss()
	mu.Lock()
	defer mu.Unlock()
	if late {
		return verdict{hung, "no answer in " + q.patience().String()}
	}
	return verdict{died, c.errors.String()}
}

func (c *court) dismiss() {
	if c.cmd == nil {
		return
	}
	_ = c.in.Close()
	timer := time.AfterFunc(5*time.Second, func() { _ = c.cmd.Process.Kill() })
	_ = c.cmd.Wait()
	timer.Stop()
	c.cmd = nil
}

// tail keeps the first bytes of what a process says at its end.
type tail struct {
	mu   sync.Mutex
	text []byte
}

func (t *tail) Write(data []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, data[:min(len(data), 4096-len(t.text))]...)
	return len(data), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.text)
}

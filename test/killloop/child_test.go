package killloop

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/flowrun/flowrun/engine"
	"github.com/flowrun/flowrun/engine/local"
	"github.com/flowrun/flowrun/engine/runs"
)

// role is what a child is to do.
type role struct {
	Dir      string    `json:"dir"`
	URL      string    `json:"url"` // of the service
	Requests []request `json:"requests"`
	Parallel int       `json:"parallel"`          // runs open at a time
	DieAt    int       `json:"die_at,omitempty"`  // the commit stage, from 1, at which it kills itself; 0 = none
	Lying    bool      `json:"lying,omitempty"`   // the control: effects are sent before their record is durable
	Backups  int       `json:"backups,omitempty"` // how many are made while it goes round its requests
	// Of a soak: runs a second, for how long, and the time between two samples.
	Rate  int           `json:"rate,omitempty"`
	Lasts time.Duration `json:"lasts,omitempty"`
	Every time.Duration `json:"every,omitempty"`
}

// request asks for a run: the same id is the same run, however often it is
// asked for.
type request struct {
	ID   string `json:"id"`
	Flow string `json:"flow"`
}

// line is what a child tells the test: an acknowledgement, or where it is.
type line struct {
	Kind    string          `json:"kind"`
	Request string          `json:"request,omitempty"`
	Run     string          `json:"run,omitempty"`
	Seq     uint64          `json:"seq,omitempty"`
	Sum     string          `json:"sum,omitempty"` // of a record
	By      string          `json:"by,omitempty"`  // of what a person did
	Status  string          `json:"status,omitempty"`
	Outputs json.RawMessage `json:"outputs,omitempty"`
	Text    string          `json:"text,omitempty"`
	N       int             `json:"n,omitempty"`
	Sample  *sample         `json:"sample,omitempty"`
}

// The kinds of lines.
const (
	lineOpened   = "opened"   // the store is open
	lineAccepted = "accepted" // a run was: Request and Run
	lineRecord   = "record"   // a watcher saw a stored record: Run, Seq, Sum
	lineActed    = "acted"    // a signal, an approval or a resolve was accepted: Run, By
	lineEnded    = "ended"    // a run has closed: Run, Status, Outputs
	lineStages   = "stages"   // how many commit stages there were: N
	lineBackup   = "backup"   // the Nth backup begins, or stands: Text is its path then
	lineSample   = "sample"
	lineTrouble  = "trouble" // what should not happen: Text
)

// driver is the engine as the child uses it: the real one, or the control.
type driver interface {
	open(ctx context.Context) ([]runs.Run, error)
	start(ctx context.Context, r request) (string, error)
	watch(ctx context.Context, id string) (<-chan local.Update, error)
	get(ctx context.Context, id string) (*runs.Result, error)
	resume(ctx context.Context, id string, discard bool) error
	decide(ctx context.Context, id, step string, act engine.Act, request engine.DecideRequest) error
	backup(ctx context.Context, path string) (written string, err error)
	close(ctx context.Context) error
}

// child drives runs until there is nothing more to do, or it is killed.
type child struct {
	role   role
	driver driver
	slots  chan struct{}
	runs   sync.WaitGroup
	acts   atomic.Int64
	driven sync.Map // runs that are followed: a request may be for one of those that were taken up
	out    struct {
		sync.Mutex
		*json.Encoder
	}
}

func childMain(text string) int {
	c := &child{}
	c.out.Encoder = json.NewEncoder(os.Stdout)
	if err := json.Unmarshal([]byte(text), &c.role); err != nil {
		c.tell(line{Kind: lineTrouble, Text: err.Error()})
		return 1
	}
	go func() { // the test's end is the child's
		_, _ = bufio.NewReader(os.Stdin).ReadByte()
		os.Exit(3)
	}()
	if err := c.work(context.Background()); err != nil {
		c.tell(line{Kind: lineTrouble, Text: err.Error()})
		return 1
	}
	return 0
}

func (c *child) tell(l line) {
	c.out.Lock()
	defer c.out.Unlock()
	_ = c.out.Encode(l) // one write: what was told is told, whenever the kill comes
}

func (c *child) trouble(format string, args ...any) {
	c.tell(line{Kind: lineTrouble, Text: fmt.Sprintf(format, args...)})
}

func (c *child) work(ctx context.Context) error {
	var stages atomic.Int64
	count := func() {
		if n := stages.Add(1); n == int64(c.role.DieAt) {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {} // nothing more happens on the committer's goroutine
		}
	}
	if err := c.open(ctx, count); err != nil {
		return err
	}
	c.tell(line{Kind: lineOpened})
	c.slots = make(chan struct{}, max(c.role.Parallel, 1))
	if err := c.takeUp(ctx); err != nil {
		return err
	}
	switch {
	case c.role.Rate > 0:
		c.soak(ctx)
	case c.role.Backups > 0:
		c.backUp(ctx)
	default:
		c.startAll(ctx)
	}
	c.runs.Wait()
	if err := c.driver.close(ctx); err != nil {
		return err
	}
	c.tell(line{Kind: lineStages, N: int(stages.Load())})
	return nil
}

func (c *child) open(ctx context.Context, reached func()) (err error) {
	if c.role.Lying {
		c.driver, err = openLying(c.role, reached)
	} else {
		c.driver, err = openEngine(ctx, c.role, reached)
	}
	return err
}

// takeUp goes on with what the process before left.
func (c *child) takeUp(ctx context.Context) error {
	open, err := c.driver.open(ctx)
	if err != nil {
		return err
	}
	for _, row := range open {
		c.driven.Store(row.ID, true) // from now on: a request may be for it
		c.runs.Go(func() { c.goOnWith(ctx, row.ID, row.Workflow) })
	}
	return nil
}

// startAll asks for the runs that are wanted, one when another has ended.
func (c *child) startAll(ctx context.Context) {
	for _, r := range c.role.Requests {
		c.slots <- struct{}{}
		c.runs.Go(func() {
			defer func() { <-c.slots }()
			c.run(ctx, r)
		})
	}
}

// run asks for a run and follows it to its end.
func (c *child) run(ctx context.Context, r request) {
	id, err := c.driver.start(ctx, r)
	if err != nil {
		c.trouble("start %s: %v", r.ID, err)
		return
	}
	c.tell(line{Kind: lineAccepted, Request: r.ID, Run: id})
	if r.Flow == "people" || r.Flow == "twelve" {
		c.act(ctx, id, "go", engine.ActSignal, engine.DecideRequest{Payload: json.RawMessage(`{"n":42}`)})
	}
	if _, driven := c.driven.LoadOrStore(id, true); !driven {
		c.drive(ctx, id, r.Flow)
	}
}

// goOnWith resumes a run that was left, and follows it.
func (c *child) goOnWith(ctx context.Context, id, flow string) {
	c.goOn(ctx, id)
	if flow == "people" || flow == "twelve" {
		c.act(ctx, id, "go", engine.ActSignal, engine.DecideRequest{Payload: json.RawMessage(`{"n":42}`)})
	}
	c.drive(ctx, id, flow)
}

// drive follows a run that is noted as driven until it has closed, and does what
// people would do.
func (c *child) drive(ctx context.Context, id, flow string) {
	defer c.driven.Delete(id)
	for round := 0; ; round++ {
		if err := c.follow(ctx, id); err != nil {
			c.trouble("watch %s: %v", id, err)
			return
		}
		result, err := c.driver.get(ctx, id)
		switch {
		case err != nil:
			c.trouble("get %s: %v", id, err)
			return
		case result.Run.Closed:
			outputs, _ := json.Marshal(result.Outputs) // texts always can be encoded
			c.tell(line{Kind: lineEnded, Run: id, Status: string(result.Run.Status), Outputs: outputs})
			return
		case result.Run.Status == runs.RunPaused:
			if !c.resolve(ctx, result) {
				c.goOn(ctx, id)
			}
		}
		if round > 50 {
			c.trouble("run %s does not end: it is %s %s", id, result.Run.Status, result.Run.Paused)
			return
		}
	}
}

// goOn resumes a run. One that was parked while another moved what it had read
// goes on without its writes, as a person would say.
func (c *child) goOn(ctx context.Context, id string) {
	err := c.driver.resume(ctx, id, false)
	if isConflict(err) && strings.Contains(err.Error(), "has moved") {
		err = c.driver.resume(ctx, id, true)
	}
	if err != nil && !isConflict(err) { // somebody drives it already
		c.trouble("resume %s: %v", id, err)
	}
}

// follow reports what a watcher sees until the run ends or pauses.
func (c *child) follow(ctx context.Context, id string) error {
	updates, err := c.driver.watch(ctx, id)
	if err != nil {
		return err
	}
	for update := range updates {
		switch {
		case update.Kind == local.UpdateRecord:
			c.tell(line{Kind: lineRecord, Run: id, Seq: update.Seq, Sum: sumOf(update.Record)})
		case update.Kind == local.UpdateStep && update.Step.Status == runs.StepWaiting && update.Step.Uses == "core.approve":
			c.act(ctx, id, update.Step.Path, engine.ActApprove, engine.DecideRequest{})
		}
	}
	return nil
}

func sumOf(record []byte) string {
	sum := sha256.Sum256(record)
	return hex.EncodeToString(sum[:16])
}

// resolve tells each unknown outcome as the service knows it. It reports whether
// there was one.
func (c *child) resolve(ctx context.Context, result *runs.Result) (found bool) {
	for path, step := range result.Steps {
		if step.Run != "" && !step.Status.Ended() {
			if below, err := c.driver.get(ctx, step.Run); err == nil { // it may not have begun
				found = c.resolve(ctx, below) || found
			}
		}
		if step.Status != runs.StepUnknown {
			continue
		}
		found = true
		outcome, err := c.outcome(runs.IdempotencyKey(result.Run.ID, path))
		if err != nil {
			c.trouble("ask for the outcome of %s: %v", path, err)
			return true
		}
		request := engine.DecideRequest{Outcome: "did_not"}
		if outcome != nil {
			request = engine.DecideRequest{Outcome: "happened", Payload: outcome}
		}
		c.act(ctx, result.Run.ID, path, engine.ActResolve, request)
	}
	return found
}

// outcome asks the service for the answer to a once action's key: nil when it
// did not happen.
func (c *child) outcome(key string) (json.RawMessage, error) {
	response, err := http.Get(c.role.URL + "/known?key=" + url.QueryEscape(key))
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	var outcome *valueOut
	if err := json.NewDecoder(response.Body).Decode(&outcome); err != nil || outcome == nil {
		return nil, err
	}
	return json.Marshal(outcome)
}

// act does what a person would do. What comes too late is refused, which is no
// trouble.
func (c *child) act(ctx context.Context, id, step string, act engine.Act, request engine.DecideRequest) {
	request.By = fmt.Sprintf("%s-%d-%d", act, os.Getpid(), c.acts.Add(1))
	if err := c.driver.decide(ctx, id, step, act, request); err != nil {
		if !isConflict(err) && !isUnknown(err) {
			c.trouble("%s %s of %s: %v", act, step, id, err)
		}
		return
	}
	c.tell(line{Kind: lineActed, Run: id, By: request.By})
}

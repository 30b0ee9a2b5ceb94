// Package conformance tests the executable of a plugin from outside, in whatever language
// it is written: it starts it as the host does, speaks the wire itself, and says of each
// promise of the protocol whether it is kept. What a case asks stands in
// proto/flowrun/plugin/v1/README.md, how to read a report in docs/plugins/test.md.
package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/flowrun/flowrun/engine/schema"
)

// Options are what a test takes from its surroundings. Command, Entropy, Now and Dir are
// required.
type Options struct {
	Command []string  // the executable, absolute, and its arguments
	Folder  string    // that the plugin comes in, with its manifest: it runs there; "" = it is Command[0] alone
	Bundled bool      // it is a part of Command[0], which is run as it stands
	Environ []string  // of this process: what the host would pass on of it is
	Entropy io.Reader // of launch tokens and canaries
	Now     func() time.Time
	Version string // of flowrun
	Dir     string // scratch folder of its own, with a short path: sockets lie in it
	Config  Config
	// Service is the config of a connection to what stands for the service; nil = what
	// Simulate starts, else nothing stands for it.
	Service json.RawMessage
	// Simulate starts the plugin's simulator and returns the config of a connection to
	// it; nil = none is started.
	Simulate func(ctx context.Context, command []string) (json.RawMessage, error)
	// ReadFile reads a file that Config.With names, by its path as written; nil = none is.
	ReadFile func(path string) ([]byte, error)
	// Only are the ids of the cases that are tried, beginnings of ids too; nil = all.
	Only []string
}

// Status is how a case ended.
type Status string

// The ways.
const (
	Passed  Status = "passed"
	Failed  Status = "failed"
	Skipped Status = "skipped" // the plugin gave no occasion for it
)

// Result is how one case ended.
type Result struct {
	Case    string   `json:"case"`
	Title   string   `json:"title"` // what the plugin must do
	Status  Status   `json:"status"`
	Reason  string   `json:"reason,omitempty"` // why it was skipped
	Failure *Failure `json:"failure,omitempty"`
	Seconds float64  `json:"seconds"`
}

// Failure says what a plugin did against the contract, and what to change.
type Failure struct {
	Sent     string `json:"sent"`     // what the kit sent, or did
	Came     string `json:"came"`     // what came of it
	Contract string `json:"contract"` // what the contract says
	Section  string `json:"section"`  // where it says so
	Change   string `json:"change"`   // what to do about it
}

func (f *Failure) Error() string { return f.Came }

// Report is what a test found.
type Report struct {
	Plugin  string   `json:"plugin,omitempty"`
	Version string   `json:"version,omitempty"`
	Command []string `json:"command"`
	Passed  int      `json:"passed"`
	Failed  int      `json:"failed"`
	Skipped int      `json:"skipped"`
	Results []Result `json:"cases"`
	// Ignored are the words of its schemas that exclude values and are not read.
	Ignored []string `json:"ignored_words,omitempty"`
}

// skip says why a case has no occasion.
type skip string

func (s skip) Error() string { return string(s) }

// broken is a plugin that did against the contract what the case alone knows to judge.
type broken struct{ sent, came, change string }

func (b *broken) Error() string { return b.came }

// fault says what was sent and what came of it; what to change is the case's own word.
func fault(sent, came string, args ...any) error {
	return &broken{sent: sent, came: fmt.Sprintf(came, args...)}
}

// advise is fault with what to change in this case.
func advise(change, sent, came string, args ...any) error {
	return &broken{sent: sent, came: fmt.Sprintf(came, args...), change: change}
}

// caseLimit bounds one case.
const caseLimit = 40 * time.Second

// Run tries all cases. It fails only where the test itself can't be made.
func Run(ctx context.Context, o Options) (*Report, error) {
	if len(o.Command) == 0 {
		return nil, errors.New("no executable was named")
	}
	if _, err := os.Stat(o.Command[0]); err != nil {
		return nil, fmt.Errorf("test a plugin: %w", err)
	}
	k, err := newKit(o)
	if err != nil {
		return nil, err
	}
	defer k.close()
	k.prepare(ctx)
	report := &Report{Command: o.Command, Plugin: k.described.GetName(), Version: k.described.GetVersion()}
	for _, c := range allCases() {
		if !c.among(o.Only) {
			continue
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		report.add(k.try(ctx, c))
	}
	report.Ignored = k.ignored()
	return report, nil
}

// ignored are the words of the plugin's schemas that exclude values and are not read.
func (k *kit) ignored() []string {
	words := schema.Ignored(k.described.GetConfigSchema())
	for _, a := range k.actions {
		words = slices.Concat(words, schema.Ignored(a.GetInputSchema()), schema.Ignored(a.GetOutputSchema()))
	}
	slices.Sort(words)
	return slices.Compact(words)
}

func (r *Report) add(result Result) {
	r.Results = append(r.Results, result)
	switch result.Status {
	case Passed:
		r.Passed++
	case Failed:
		r.Failed++
	case Skipped:
		r.Skipped++
	}
}

// try runs one case.
func (k *kit) try(ctx context.Context, c testCase) Result {
	result := Result{Case: c.id, Title: c.title, Status: Passed}
	if why, ok := k.Config.Skip[c.id]; ok {
		result.Status, result.Reason = Skipped, "the config skips it: "+why
		return result
	}
	begun := k.Now()
	bounded, cancel := context.WithTimeout(ctx, caseLimit)
	defer cancel()
	err := k.started(c)
	if err == nil {
		err = c.run(bounded, k)
	}
	k.service.pass()
	result.Seconds = k.Now().Sub(begun).Seconds()
	why, skipped := errors.AsType[skip](err)
	found, ok := errors.AsType[*broken](err)
	switch {
	case err == nil:
		return result
	case skipped:
		result.Status, result.Reason = Skipped, string(why)
		return result
	case !ok:
		found = &broken{sent: "what the case asks: " + c.title, came: err.Error()}
	}
	result.Status = Failed
	k.failed = append(k.failed, c.id)
	result.Failure = &Failure{Sent: k.clean(found.sent), Came: k.clean(found.came), Contract: c.contract, Section: contractPage + "#" + c.section, Change: c.change}
	if found.change != "" {
		result.Failure.Change = found.change
	}
	return result
}

// started says why a case can't be tried: the plugin does not start, or does not describe
// itself, which is the failure of a case of its own.
func (k *kit) started(c testCase) error {
	switch {
	case c.needs >= needsStart && k.startError != nil:
		return skip("it does not start: see start.handshake")
	case c.needs >= needsDescription && k.describeError != nil:
		return skip("it does not describe itself: see describe.answers")
	case c.needs >= needsConnection && k.unconnected != "":
		return skip(k.unconnected)
	}
	return nil
}

// contractPage is where the contract stands, from the root of the repository.
const contractPage = "proto/flowrun/plugin/v1/README.md"

package upkeep

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/flowrun/flowrun/engine/fault"
	"github.com/flowrun/flowrun/engine/journal"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/secret"
	"github.com/flowrun/flowrun/engine/store"
)

// ExportFormat is the version of an export's form: a reader refuses a higher
// one. Fields may come to a version, none goes away.
const ExportFormat = 1

// exportPage is how many lines of a log are read at a time.
const exportPage = 1000

// The types of an export's lines, in the order in which they come. Those from
// ExportRunRow to ExportLog come once for the run and once for each run of its
// sub-workflows.
const (
	ExportHead     = "export"   // Data is an ExportHeader
	ExportRunRow   = "run"      // the row of lists
	ExportPlan     = "plan"     // {"hash", "plan"}: what was accepted; that of a resume with an edited file stands in its event
	ExportInputs   = "inputs"   // complete, with defaults; secrets are references
	ExportOutputs  = "outputs"  // of the workflow
	ExportError    = "error"    // where the run failed
	ExportStep     = "step"     // in file order
	ExportDelivery = "delivery" // an output on its way to one destination
	ExportEvent    = "event"    // one record of the journal
	ExportLog      = "log"      // one line
	ExportLarge    = "large"    // an ExportedLarge: the reference of a large value, whose content is not in an export
	ExportEnd      = "end"      // {"lines"}: an export without it is not whole
)

// ExportHeader is the first line of an export.
type ExportHeader struct {
	Format     int       `json:"format"`
	Flowrun    string    `json:"flowrun"` // the version that wrote it
	Run        string    `json:"run"`
	ExportedAt time.Time `json:"exported_at"`
}

// ExportedLarge says of a large value of a run what an export has of it: not its content,
// which `runs output` gives.
type ExportedLarge struct {
	Digest  string `json:"digest"`
	Size    int64  `json:"size"`
	Sealed  bool   `json:"sealed,omitempty"` // it holds a secret
	LeftOut bool   `json:"left_out"`
}

// ExportLine is one line of an export. Run is the run that it belongs to.
type ExportLine struct {
	Type string          `json:"type"`
	Run  string          `json:"run,omitempty"`
	Data json.RawMessage `json:"data"`
}

// ExportRun gives emit all that is stored of a run and of the runs of its
// sub-workflows, line by line. No line holds the value of a secret: references
// stay references, and what the store or the environment knows as a secret is
// masked once more. ErrRunNotFound, or an error of emit.
func (u *Upkeep) ExportRun(ctx context.Context, id string, emit func(ExportLine) error) error {
	family, err := u.family(ctx, id)
	if err != nil {
		return err
	}
	masks, err := u.masksOf(family)
	if err != nil {
		return err
	}
	x := &export{upkeep: u, masks: masks, emit: emit}
	x.line("", ExportHead, ExportHeader{
		Format: ExportFormat, Flowrun: u.config.Version, Run: id, ExportedAt: u.config.Now().UTC(),
	})
	for _, member := range family {
		x.run(ctx, member)
	}
	x.line("", ExportEnd, map[string]int{"lines": x.lines + 1})
	return x.err
}

// family returns the run and the runs of its sub-workflows, parents first.
func (u *Upkeep) family(ctx context.Context, id string) ([]string, error) {
	family := []string{id}
	for at := 0; at < len(family); at++ {
		steps, err := u.runs.Steps(ctx, family[at])
		if err != nil {
			if at > 0 && u.Fault(err) == fault.ErrRunNotFound { //nolint:errorlint // fault returns it as it is
				continue // a child that was removed
			}
			return nil, err
		}
		for _, step := range steps {
			if step.Run == "" || slices.Contains(family, step.Run) {
				continue
			}
			row, err := u.store.Run(step.Run)
			if err == nil && row.Parent != nil && row.Parent.Run == family[at] {
				family = append(family, step.Run)
			}
		}
	}
	return family, nil
}

// masksOf returns a redactor that knows every secret of the project and of these
// runs. It is one of its own: that of the process shall not grow.
func (u *Upkeep) masksOf(ids []string) (*secret.Redactor, error) {
	masks := secret.NewRedactor()
	if err := u.project.Services().Teach(masks, ids); err != nil {
		return nil, u.Fault(fmt.Errorf("read the secrets that are to be masked: %w", err))
	}
	for _, entry := range u.config.Environ {
		if name, value, _ := strings.Cut(entry, "="); strings.HasPrefix(name, secret.EnvPrefix) || strings.HasPrefix(name, secret.SandboxEnvPrefix) {
			masks.Add(value)
		}
	}
	return masks, nil
}

// export writes lines until the first error.
type export struct {
	upkeep *Upkeep
	masks  *secret.Redactor
	emit   func(ExportLine) error
	lines  int
	err    error
}

func (x *export) line(run, kind string, data any) {
	if x.err != nil {
		return
	}
	encoded, err := json.Marshal(data)
	if err != nil {
		x.err = fmt.Errorf("export run %s: %s: %w", run, kind, err)
		return
	}
	for _, masks := range []*secret.Redactor{x.upkeep.project.Redactor(), x.masks} {
		if encoded, err = secret.MaskJSON(masks, encoded); err != nil {
			x.err = fmt.Errorf("export run %s: mask %s: %w", run, kind, err)
			return
		}
	}
	x.lines++
	x.err = x.emit(ExportLine{Type: kind, Run: run, Data: encoded})
}

func (x *export) fail(err error) {
	if x.err == nil && err != nil {
		x.err = x.upkeep.Fault(err)
	}
}

func (x *export) run(ctx context.Context, id string) {
	result, err := x.upkeep.runs.Get(ctx, id)
	if err != nil {
		x.fail(err)
		return
	}
	x.line(id, ExportRunRow, result.Run)
	x.plan(id, result.Run)
	x.inputs(id)
	x.line(id, ExportOutputs, result.Outputs)
	if result.Error != nil {
		x.line(id, ExportError, result.Error)
	}
	steps, err := x.upkeep.runs.Steps(ctx, id)
	x.fail(err)
	for _, step := range steps {
		x.line(id, ExportStep, step)
	}
	for _, delivery := range result.Deliveries {
		x.line(id, ExportDelivery, delivery)
	}
	x.events(ctx, id)
	x.logs(ctx, id)
	x.large(id)
}

func (x *export) large(id string) {
	infos, err := x.upkeep.store.Blobs(nil).RunBlobs(id)
	x.fail(err)
	for _, info := range infos {
		x.line(id, ExportLarge, ExportedLarge{Digest: info.Digest, Size: info.Size, Sealed: info.Sealed, LeftOut: true})
	}
}

func (x *export) logs(ctx context.Context, id string) {
	for from := uint64(0); x.err == nil; {
		page, err := x.upkeep.store.LogPage(id, store.LogQuery{From: from, Limit: exportPage})
		if err != nil {
			x.fail(err)
			return
		}
		for _, log := range page.Lines {
			x.line(id, ExportLog, log)
		}
		if from = page.Next; from == 0 {
			return
		}
	}
}

func (x *export) plan(id string, row runs.Run) {
	encoded, err := x.upkeep.store.Plan(row.PlanHash)
	if err != nil {
		x.fail(fmt.Errorf("read plan of run %s: %w", id, err))
		return
	}
	x.line(id, ExportPlan, map[string]any{"hash": row.PlanHash, "plan": json.RawMessage(encoded)})
}

func (x *export) inputs(id string) {
	records, err := x.upkeep.store.Records(id, 1, 1)
	if err != nil {
		x.fail(fmt.Errorf("read the inputs of run %s: %w", id, err))
		return
	}
	if len(records) > 0 && records[0].Event.Start != nil && len(records[0].Event.Start.Inputs) > 0 {
		x.line(id, ExportInputs, records[0].Event.Start.Inputs)
	}
}

func (x *export) events(ctx context.Context, id string) {
	err := x.upkeep.store.EachRecord(id, 1, func(record *journal.Record) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		x.line(id, ExportEvent, x.upkeep.project.Shown(record))
		return x.err
	})
	if err != nil && x.err == nil {
		x.fail(fmt.Errorf("read the journal of run %s: %w", id, err))
	}
}

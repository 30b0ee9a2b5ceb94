package engine

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/flowrun/flowrun/engine/boltstore"
	"github.com/flowrun/flowrun/engine/inforce"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/preview"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/secret"
	"github.com/flowrun/flowrun/engine/store"
	"github.com/flowrun/flowrun/engine/trigger"
	"github.com/flowrun/flowrun/engine/upkeep"
	"github.com/flowrun/flowrun/engine/workspace"
)

// Offline tells what a project's files alone say, where no store is needed or none
// is there: which workflows there
// are, what a run would do, which schedules there are and when they fire next.
// Safe for concurrent use.
type Offline struct{ *workspace.Workspace }

// LoadProject reads the project file. A wrong one is a diag.List error. A state
// folder that others could change is a *fault.StoreError: plugins start from it.
func LoadProject(ctx context.Context, config workspace.Config) (*workspace.Workspace, error) {
	config.StoredRows = func(path string) secret.Rows { return storedRows{path, filesOf(config)} }
	return workspace.Load(ctx, config)
}

// Preview tells what a run of a checked workflow would do. A wrong input is an
// *fault.InputError; one that is missing is shown as unknown.
func (o Offline) Preview(_ context.Context, workflow *plan.Workflow, options preview.Options) (*preview.Preview, error) {
	return preview.Of(o.Workspace, workflow, options)
}

// Schedules returns the schedules and polls as the files alone say.
func (o Offline) Schedules(ctx context.Context) ([]trigger.ScheduleItem, error) {
	return trigger.SchedulesOf(ctx, o.Workspace)
}

// NextFires returns the coming slots as the files alone say. *fault.UnknownError.
func (o Offline) NextFires(ctx context.Context, id string, from time.Time, n int) (*trigger.NextFires, error) {
	return trigger.NextFiresOf(ctx, o.Workspace, id, from, n)
}

// WorkflowList returns the workflow files of the project by name, as Engine does, but
// for their runs.
func (o Offline) WorkflowList(ctx context.Context) ([]WorkflowInfo, error) {
	loaded, err := inforce.New(o.Workspace).Load(ctx)
	if err != nil {
		return nil, err
	}
	list := make([]WorkflowInfo, 0, len(loaded.Files))
	for _, file := range loaded.Files {
		list = append(list, fileInfo(file))
	}
	sortByName(list)
	return list, nil
}

// Workflow returns one workflow by its name. *fault.UnknownError.
func (o Offline) Workflow(ctx context.Context, name string) (*WorkflowDetail, error) {
	file, err := inforce.New(o.Workspace).File(ctx, name)
	if err != nil {
		return nil, err
	}
	return detailOf(file, fileInfo(file)), nil
}

// storeFiles are files of stores that nobody has open.
type storeFiles struct{ options boltstore.Options }

func filesOf(c workspace.Config) storeFiles {
	return storeFiles{boltstore.Options{Timeout: lockTimeout, Hooks: store.Hooks{Now: c.Now}, Marks: true}}
}

func (f storeFiles) Check(ctx context.Context, path string) (*store.Report, error) {
	return boltstore.CheckFile(ctx, path, f.options)
}

func (f storeFiles) Restore(ctx context.Context, backup, path string) (*store.RestoreInfo, error) {
	return boltstore.Restore(ctx, backup, path, f.options)
}

func (f storeFiles) Compact(ctx context.Context, path string) (before, after int64, err error) {
	return boltstore.Compact(ctx, path, f.options)
}

func (f storeFiles) Open(path string) (store.Store, error) { return boltstore.Open(path, f.options) }

// KernelWarning says that the kernel has a fault that can damage stores.
func (f storeFiles) KernelWarning() string {
	release, err := os.ReadFile("/proc/sys/kernel/osrelease")
	if err != nil {
		return "" // not Linux: the fault is one of its file systems
	}
	return boltstore.KernelWarning(strings.TrimSpace(string(release)))
}

// CheckStore checks a store file that nobody has open: pages, every record, indexes,
// what they refer to. It changes nothing. Faults are in the report; an error says that
// it could not be checked: *fault.LockedError, *fault.StoreError.
func CheckStore(ctx context.Context, c workspace.Config, path string) (*upkeep.CheckReport, error) {
	return upkeep.CheckStore(ctx, filesOf(c), c, path)
}

// RestoreStore puts a backup in the place of the store of the state directory, which
// nobody may have open; the store that was there is kept beside. Runs that had not
// ended when the backup was made are paused. *fault.LockedError, *fault.StoreError.
func RestoreStore(ctx context.Context, c workspace.Config, backup string) (*upkeep.RestoreReport, error) {
	return upkeep.RestoreStore(ctx, filesOf(c), c, backup)
}

// CompactStore writes the store anew without the room that it does not use. Nobody may
// have it open. *fault.LockedError, *fault.StoreError.
func CompactStore(ctx context.Context, c workspace.Config) (*upkeep.CompactReport, error) {
	return upkeep.CompactStore(ctx, filesOf(c), c)
}

// HasRun reports whether the store of a state directory that nobody has open holds a
// run. It changes nothing; a store that can't be read holds none for who asks.
func HasRun(c workspace.Config, stateDir, id string) bool {
	ok, err := boltstore.HasRun(filepath.Join(stateDir, workspace.StoreFile), filesOf(c).options, id)
	return err == nil && ok
}

// RestingRuns returns runs of the store of a state directory that nobody has open, the newest
// first: none where it can't be read at once.
func RestingRuns(c workspace.Config, stateDir string, filter runs.Filter) []runs.Run {
	found, err := boltstore.PeekRuns(filepath.Join(stateDir, workspace.StoreFile), filesOf(c).options, filter)
	if err != nil {
		return nil
	}
	for i := range found {
		found[i].Undriven = !found[i].Closed && found[i].Status != runs.RunPaused
	}
	return found
}

// restingRecords is how many records of a run are looked at for the paths of its steps.
const restingRecords = 300

// RestingRun tells of a run of such a store which steps and outputs it has, as far as its
// plan and its first records say.
func RestingRun(c workspace.Config, stateDir, id string) (steps, outputs []string) {
	_, stored, records, err := boltstore.PeekRun(filepath.Join(stateDir, workspace.StoreFile), filesOf(c).options, id, restingRecords)
	if err != nil {
		return nil, nil
	}
	if workflow := new(plan.Workflow); json.Unmarshal(stored, workflow) == nil {
		for i := range workflow.Steps {
			steps = append(steps, workflow.Steps[i].ID)
		}
		for i := range workflow.Outputs {
			outputs = append(outputs, workflow.Outputs[i].Name)
		}
	}
	for _, record := range records {
		for i := range record.Commands {
			if step := runs.StepOf(record.Commands[i].Path); step != "" && !slices.Contains(steps, step) {
				steps = append(steps, step)
			}
		}
	}
	return steps, outputs
}

// RestingSecrets are the names of the secrets in such a store.
func RestingSecrets(c workspace.Config, stateDir string) []string {
	names, err := boltstore.PeekNames(filepath.Join(stateDir, workspace.StoreFile), filesOf(c).options, secret.StoredBucket, 1000)
	if err != nil {
		return nil
	}
	return names
}

// KernelWarning says that this kernel may damage a store, and what helps; "" when it
// does not.
func KernelWarning() string { return storeFiles{}.KernelWarning() }

// storedRows reads rows of a store that nobody has open.
type storedRows struct {
	path  string
	files storeFiles
}

// Get returns one row. *fault.LockedError, *fault.StoreError.
func (r storedRows) Get(bucket, key string) (value []byte, ok bool, err error) {
	if value, ok, err = boltstore.ReadRow(r.path, r.files.options, bucket, key); err != nil {
		err = upkeep.StoreError(r.path, filepath.Dir(r.path), err)
	}
	return value, ok, err
}

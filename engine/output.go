package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/fault"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/store"
)

// RunOutput is an output of a run that has succeeded, with how its workflow shows it.
type RunOutput struct {
	Name    string          `json:"name"`
	Value   json.RawMessage `json:"value"`
	Format  string          `json:"format,omitempty"`  // workspace.FormatMarkdown or FormatCSV; "" = none
	Columns []string        `json:"columns,omitempty"` // of FormatCSV, in order
}

// Output returns one output of a run. *fault.UnknownError where its workflow has none of
// that name, *fault.ConflictError where the run has not succeeded; else the errors of Get.
func (e *Engine) Output(ctx context.Context, id, name string) (*RunOutput, error) {
	result, err := e.GetInShort(ctx, id)
	if err != nil {
		return nil, err
	}
	definition, err := e.Definition(ctx, id)
	if err != nil {
		return nil, err
	}
	all := definition.Workflow.Outputs
	i := slices.IndexFunc(all, func(output plan.Output) bool { return output.Name == name })
	if i < 0 {
		return nil, &fault.UnknownError{What: "output", Name: name, Hint: nearOutput(name, all)}
	}
	value, there := result.Outputs[name]
	if result.Run.Status != runs.RunSucceeded || !there {
		return nil, &fault.ConflictError{
			Message: fmt.Sprintf("run %s is %s: it has outputs when it has succeeded", id, result.Run.Status),
			Hint:    diag.Sayf("look at it with %s", diag.Command{"runs", "show", id}),
		}
	}
	return &RunOutput{Name: name, Value: value, Format: all[i].Format, Columns: all[i].Columns}, nil
}

// BlobReader reads a large value. Safe for concurrent use.
type BlobReader interface {
	io.ReaderAt
	io.Closer
	Size() int64 // bytes
}

// OpenBlob opens a large value that a run refers to, by its digest. Who opens it closes it.
// *fault.UnknownError where the run has none such, *fault.ConflictError where a secret is in
// it: what is shown to people has none. Else the errors of Get.
func (e *Engine) OpenBlob(_ context.Context, id, digest string) (BlobReader, error) {
	if _, err := e.store.Run(id); err != nil {
		return nil, e.RunFault(id, err)
	}
	reader, err := e.store.Blobs(nil).OpenBlob(id, digest)
	switch {
	case errors.Is(err, store.ErrBlobNotFound), errors.Is(err, store.ErrBlobDigest):
		return nil, &fault.UnknownError{What: "large value", Name: digest, Hint: diag.Sayf("the run's outputs and steps name those that it has: %s", diag.Command{"runs", "show", id, "-o", "json"})}
	case errors.Is(err, store.ErrBlobSealed):
		return nil, secretBlob(digest)
	case err != nil:
		return nil, e.RunFault(id, err)
	case reader.Info().Sealed:
		return nil, errors.Join(secretBlob(digest), reader.Close())
	}
	return reader, nil
}

func secretBlob(digest string) error {
	return &fault.ConflictError{
		Message: "the large value " + digest + " has a secret in it, and is not shown",
		Hint:    diag.Say("a step hands it on, such as files.write"),
	}
}

func nearOutput(name string, all []plan.Output) diag.Hint {
	if len(all) == 0 {
		return diag.Say("its workflow has no outputs at all")
	}
	names := make([]string, len(all))
	for i, output := range all {
		names[i] = output.Name
	}
	return diag.MeantOr(name, names, "its outputs are ")
}

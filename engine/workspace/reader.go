package workspace

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/flowrun/flowrun/engine/content"
	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/store"
)

// read reads a large value for a core.read step: all of it, or the page that its cursor
// names.
func (p *Workspace) read(ctx context.Context, request runs.Request) runs.Answer {
	input, err := content.ParseInput(request.Input)
	if err != nil {
		return RefusedCall(request.Action, fmt.Errorf("read its input: %w", err))
	}
	blobs, err := p.services.Blobs()
	if err != nil {
		return RefusedCall(request.Action, err)
	}
	reader, err := blobs.OpenBlob(request.RunID, input.Blob.Digest)
	if err != nil {
		return runs.Answer{Failed: notRead(err)}
	}
	defer func() { _ = reader.Close() }() // it was read
	if reader.Info().Sealed {
		return runs.Answer{Failed: &runs.Error{
			Kind: plan.KindDenied, Action: request.Action, Applied: runs.NotApplied, Message: "the large value has a secret in it, and what is read of it would stand in the run in clear",
			Hint: diag.Say("hand it to an action as it is"),
		}}
	}
	answer, err := input.Answer(bounded{BlobReader: reader, ctx: ctx}, request.AllPages, request.PageCursor)
	if err == nil {
		answer.Output, err = p.masked(answer.Output)
	}
	if err != nil {
		return runs.Answer{Failed: notRead(err)}
	}
	return runs.Answer{Completed: &runs.Completed{Output: answer.Output, NextCursor: answer.Next}}
}

// bounded is a reader that ends with a context.
type bounded struct {
	store.BlobReader
	ctx context.Context
}

// ReadAt reads a part unless the context has ended.
func (b bounded) ReadAt(part []byte, offset int64) (int, error) {
	if err := b.ctx.Err(); err != nil {
		return 0, err
	}
	return b.BlobReader.ReadAt(part, offset)
}

// errMasked is of a text in which masking a secret would leave no document.
var errMasked = errors.New("it has a known secret where it can't be masked")

// masked masks known secrets in what was read, as in what plugins say.
func (p *Workspace) masked(output json.RawMessage) (json.RawMessage, error) {
	masked := json.RawMessage(p.redactor.Redact(string(output)))
	if !json.Valid(masked) || !utf8.Valid(masked) {
		return nil, errMasked
	}
	return masked, nil
}

// notRead is the failure of a core.read.
func notRead(err error) *runs.Error {
	failed := content.Failure(err)
	switch {
	case errors.Is(err, store.ErrBlobNotFound):
		failed.Kind, failed.Message = plan.KindInvalid, "the run has no large value with this digest"
		failed.Hint = diag.Say("a reference is good in the run whose step gave it, and in those that it was handed to as an input or an output")
	case errors.Is(err, errMasked):
		failed.Kind = plan.KindDenied
	}
	return failed
}

package engine

import (
	"fmt"

	"github.com/flowrun/flowrun/engine/runs"
)

// ReusedKeyError says that a request has the id of another one, which asked for
// something else.
type ReusedKeyError struct{ Run string }

func (e *ReusedKeyError) Error() string {
	return fmt.Sprintf("the key was used for another request, which has made run %s", e.Run)
}

// askedRequest is what makes a request that is sent again the same request. Its run
// is the one that the first has made, if both ask for the same: digest is of what is
// asked for, "" where nobody compares. replayed, where it is not nil, is told.
type askedRequest struct {
	id, digest string
	replayed   *bool
}

// answered returns the run that a request has made before, nil where there is none.
func (e *Engine) answered(r askedRequest) (*runs.Run, error) {
	if r.id == "" {
		return nil, nil
	}
	first, err := e.store.Requested(r.id)
	if err != nil || first == "" {
		return nil, e.Fault(err)
	}
	return e.replayed(r, first)
}

// replayed returns the run of a request that was sent before, or *ReusedKeyError.
func (e *Engine) replayed(r askedRequest, run string) (*runs.Run, error) {
	records, err := e.store.Records(run, 1, 1)
	if err != nil {
		return nil, e.Fault(fmt.Errorf("read the request of run %s: %w", run, err))
	}
	if len(records) > 0 && records[0].Event.Start != nil {
		if first := records[0].Event.Start.RequestDigest; first != "" && r.digest != "" && first != r.digest {
			return nil, &ReusedKeyError{Run: run}
		}
	}
	if r.replayed != nil {
		*r.replayed = true
	}
	return e.storedRun(run)
}

// startAsked is start for a request that may have been sent before.
func (e *Engine) startAsked(r askedRequest, begin func() (id string, existing bool, err error)) (*runs.Run, error) {
	id, existing, err := begin()
	switch {
	case err != nil:
		return nil, err
	case existing && r.id != "":
		return e.replayed(r, id)
	}
	return e.storedRun(id)
}

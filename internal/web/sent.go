package web

import (
	"fmt"
	"path/filepath"

	"github.com/flowrun/flowrun/engine"
	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/workspace"
	"github.com/flowrun/flowrun/internal/web/wire"
)

// checkSent refuses a workflow that was sent from another machine and that would read
// files of this one: the sender's file means those beside it, which are not here.
func checkSent(r engine.StartRequest) error {
	if r.Dir != "" || !filepath.IsLocal(filepath.FromSlash(r.File)) {
		return wire.NewProblem(wire.CodeBadRequest, "the body is not what this path takes: over TCP `dir` is left out, and `file` is a path below the project")
	}
	used, line := workspace.UsedFile(r.File, r.Source)
	if used == "" {
		return nil
	}
	return wire.NewProblem(wire.CodeBadRequest, fmt.Sprintf("%s:%d: the workflow calls the file %s, which is not sent with it", r.File, line, used)).
		With(diag.Say("bring both files to the server's project: its triggers and its page start them there; or put the steps of the other one into this file"))
}

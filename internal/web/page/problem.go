package page

import (
	"errors"
	"net/http"
	"strings"

	"github.com/flowrun/flowrun/engine"
	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/fault"
	"github.com/flowrun/flowrun/engine/upkeep"
	"github.com/flowrun/flowrun/engine/workspace"
)

// problemData is what the template "problem" shows.
type problemData struct {
	Title    string
	Message  string
	Hint     string
	Problems diag.List
	Back     string // the page to go back to
}

// problem is the screen of an error: what went wrong and what to do.
func (s *site) problem(r *http.Request, err error) *screen {
	shown := problemData{Message: err.Error(), Back: backPath(r)}
	status := http.StatusInternalServerError
	var (
		own      *refused
		conflict *fault.ConflictError
		input    *fault.InputError
		unknown  *fault.UnknownError
		store    *fault.StoreError
		plugin   *engine.PluginChangedError
		gone     *upkeep.RunNotFoundError
		busy     *fault.BusyError
		reused   *engine.ReusedKeyError
		list     diag.List
	)
	switch {
	case errors.As(err, &own):
		status, shown.Hint = own.status, own.hint
	case errors.As(err, &gone):
		status, shown.Message, shown.Hint = http.StatusNotFound, "there is no such run", gone.Hint.Text
	case errors.Is(err, fault.ErrRunNotFound):
		status, shown.Message = http.StatusNotFound, "there is no such run"
	case errors.Is(err, workspace.ErrUnknownPlugin):
		status = http.StatusNotFound
	case errors.As(err, &unknown):
		status, shown.Hint = http.StatusNotFound, unknown.Hint.Text
	case errors.As(err, &conflict):
		status, shown.Message, shown.Hint = http.StatusConflict, conflict.Message, conflict.Hint.Text
	case errors.As(err, &plugin):
		status, shown.Message, shown.Hint = http.StatusConflict, plugin.Message, plugin.Hint.Text
	case errors.As(err, &input):
		status, shown.Message, shown.Hint = http.StatusUnprocessableEntity, input.Error(), input.Hint.Text
	case errors.As(err, &list):
		status, shown.Message, shown.Problems = http.StatusUnprocessableEntity, "the workflow has problems", list
	case errors.As(err, &busy):
		status, shown.Hint = http.StatusTooManyRequests, "runs that end make room: ask again then"
	case errors.As(err, &reused):
		status, shown.Hint = http.StatusUnprocessableEntity, "the form was sent before with something else in it: open it anew"
	case errors.Is(err, engine.ErrClosing):
		status, shown.Message = http.StatusServiceUnavailable, "the server is about to end; nothing was done"
	case errors.As(err, &store):
		shown.Hint = store.Hint.Text
	default:
		s.Log.Error("page failed", "path", r.URL.Path, "error", err)
	}
	shown.Title = http.StatusText(status)
	return &screen{Title: shown.Title, Template: "problem", Data: shown, Status: status}
}

// backPath is where a form came from: the page that a reader goes back to.
func backPath(r *http.Request) string {
	if back := r.PostFormValue("back"); r.Method == http.MethodPost && isOwnPath(back) {
		return back
	}
	return "/"
}

// isOwnPath reports whether a path is one of this server and no other's.
func isOwnPath(path string) bool {
	odd := strings.IndexFunc(path, func(r rune) bool { return r < ' ' || r == '\\' || r == 0x7f })
	return strings.HasPrefix(path, "/") && !strings.HasPrefix(path, "//") && odd < 0
}

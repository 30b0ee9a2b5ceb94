package page

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/flowrun/flowrun/engine"
	"github.com/flowrun/flowrun/engine/fault"
)

// TestAProblemHasTheStatusOfTheAPI: what a person can mend is no fault of the server,
// and is not logged as one.
func TestAProblemHasTheStatusOfTheAPI(t *testing.T) {
	for _, c := range []struct {
		err    error
		status int
	}{
		{&fault.BusyError{Runs: 1000}, http.StatusTooManyRequests},
		{&engine.ReusedKeyError{Run: "01k8zq4c0vdx3y6t7k9m2n5p8r"}, http.StatusUnprocessableEntity},
		{&fault.ConflictError{Message: "it has ended"}, http.StatusConflict},
		{fault.ErrRunNotFound, http.StatusNotFound},
		{engine.ErrClosing, http.StatusServiceUnavailable},
	} {
		var log bytes.Buffer
		s := newSite(Options{Log: slog.New(slog.NewTextHandler(&log, nil))})
		shown := s.problem(httptest.NewRequest(http.MethodPost, "/runs", nil), fmt.Errorf("start a run: %w", c.err))
		if data := shown.Data.(problemData); shown.Status != c.status || data.Message == "" || log.Len() > 0 {
			t.Errorf("%T: status %d, want %d; %+v, logged %q", c.err, shown.Status, c.status, data, log.String())
		}
	}
	var log bytes.Buffer
	s := newSite(Options{Log: slog.New(slog.NewTextHandler(&log, nil))})
	if shown := s.problem(httptest.NewRequest(http.MethodGet, "/", nil), errors.New("a bug")); shown.Status != http.StatusInternalServerError || log.Len() == 0 {
		t.Errorf("a fault of the server: status %d, logged %q", shown.Status, log.String())
	}
}

package page

import (
	"errors"
	"net/http"

	"github.com/flowrun/flowrun/internal/web/guard"
)

// deviceData is the page on which a person logs a program in.
type deviceData struct {
	Code    string // as it was typed, where none is found
	Device  *guard.Device
	Allowed bool // the person has the scope, and may change something
	Error   string
}

// device shows the program that waits with a code, or asks for the code.
func (s *site) device(r *http.Request) (*screen, error) {
	code := r.URL.Query().Get("code")
	if code == "" {
		return deviceScreen(deviceData{}), nil
	}
	return s.deviceOf(r, code)
}

func (s *site) deviceOf(r *http.Request, code string) (*screen, error) {
	if s.Devices == nil {
		return nil, notFound("page", "/device")
	}
	caller, _ := guard.CallerOf(r.Context())
	found, err := s.Devices.Find(code)
	if errors.Is(err, guard.ErrNoDevice) {
		refusal := deviceScreen(deviceData{Code: code, Error: err.Error()})
		refusal.Status = http.StatusNotFound
		return refusal, nil
	}
	return deviceScreen(deviceData{Code: code, Device: &found, Allowed: caller.Scope.Allows(guard.Operator) && caller.Scope.Allows(found.Scope)}), err
}

func deviceScreen(data deviceData) *screen {
	return &screen{Title: "Log a machine in", Template: "device", Data: data}
}

// decideDevice logs a program in, or refuses it.
func (s *site) decideDevice(r *http.Request) (*outcome, error) {
	if s.Devices == nil {
		return nil, notFound("page", "/device")
	}
	caller, _ := guard.CallerOf(r.Context())
	code := r.PostForm.Get("code")
	decided, err := s.Devices.Decide(code, r.PostForm.Get("act") == "approve", caller)
	switch {
	case errors.Is(err, guard.ErrNoDevice):
		shown, err := s.deviceOf(r, code)
		return &outcome{screen: shown}, err
	case err != nil:
		return nil, &refused{http.StatusForbidden, err.Error(), "log in with a link or a token of that scope"}
	}
	return done(deviceScreen(deviceData{Code: code, Device: &decided})), nil
}

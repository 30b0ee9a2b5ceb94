package guard

import (
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

func newTestDevices() (*Devices, *time.Time) {
	now := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
	return NewDevices(func() time.Time { return now }, rand.Reader), &now
}

func (d *Devices) mustBegin(t *testing.T, scope Scope, remote string) (string, Device) {
	t.Helper()
	code, begun, err := d.Begin(DeviceRequest{Name: "ann@laptop", Scope: scope, Remote: remote})
	if err != nil {
		t.Fatal(err)
	}
	return code, begun
}

func TestADeviceIsLoggedInOnce(t *testing.T) {
	d, _ := newTestDevices()
	code, begun := d.mustBegin(t, Operator, "192.0.2.1")
	if waiting, err := d.Take(code); err != nil || waiting.Decided {
		t.Fatalf("%+v, %v", waiting, err)
	}
	written := " " + strings.ToLower(strings.ReplaceAll(begun.UserCode, "-", " "))
	if found, err := d.Find(written); err != nil || found.Name != "ann@laptop" {
		t.Errorf("%q: %+v, %v", written, found, err)
	}
	by := Caller{Name: "page of ann", Scope: Admin, Grant: "0123456789ab"}
	if _, err := d.Decide(begun.UserCode, true, by); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Decide(begun.UserCode, false, by); !errors.Is(err, ErrNoDevice) {
		t.Errorf("decided twice: %v", err)
	}
	if taken, err := d.Take(code); err != nil || !taken.Approved || taken.By.Grant != by.Grant {
		t.Errorf("%+v, %v", taken, err)
	}
	if _, err := d.Take(code); !errors.Is(err, ErrNoDevice) {
		t.Errorf("taken twice: %v", err)
	}
}

// TestNobodyGivesADeviceAScopeThatTheyLack, and it waits on for somebody who has it.
func TestNobodyGivesADeviceAScopeThatTheyLack(t *testing.T) {
	d, _ := newTestDevices()
	code, begun := d.mustBegin(t, Admin, "192.0.2.1")
	if _, err := d.Decide(begun.UserCode, true, Caller{Scope: Operator}); err == nil || errors.Is(err, ErrNoDevice) {
		t.Errorf("an operator gives the scope admin: %v", err)
	}
	if waiting, err := d.Take(code); err != nil || waiting.Decided {
		t.Errorf("%+v, %v", waiting, err)
	}
	if refused, err := d.Decide(begun.UserCode, false, Caller{Scope: Viewer}); err != nil || refused.Approved {
		t.Errorf("%+v, %v", refused, err)
	}
}

func TestACodeEnds(t *testing.T) {
	d, now := newTestDevices()
	code, begun := d.mustBegin(t, Viewer, "192.0.2.1")
	*now = now.Add(DeviceLife - time.Nanosecond)
	if _, err := d.Take(code); err != nil {
		t.Errorf("before its time: %v", err)
	}
	*now = now.Add(time.Nanosecond)
	if _, err := d.Take(code); !errors.Is(err, ErrNoDevice) {
		t.Errorf("at its time: %v", err)
	}
	if _, err := d.Decide(begun.UserCode, true, Caller{Scope: Admin}); !errors.Is(err, ErrNoDevice) {
		t.Errorf("approved after its time: %v", err)
	}
	for _, wrong := range []string{"", "BCDF", begun.UserCode[1:]} {
		if _, err := d.Find(wrong); !errors.Is(err, ErrNoDevice) {
			t.Errorf("%q: %v", wrong, err)
		}
	}
}

// TestWhoAsksAllTheTimeKeepsNobodyOut: an address has ten codes, the newest; those of others
// stay until there are a thousand.
func TestWhoAsksAllTheTimeKeepsNobodyOut(t *testing.T) {
	d, now := newTestDevices()
	mine, _ := d.mustBegin(t, Viewer, "192.0.2.1")
	var codes []string
	for range 50 {
		*now = now.Add(time.Millisecond)
		code, _ := d.mustBegin(t, Viewer, "198.51.100.7")
		codes = append(codes, code)
	}
	if _, err := d.Take(mine); err != nil {
		t.Errorf("one of another address: %v", err)
	}
	held := 0
	for i, code := range codes {
		if _, err := d.Take(code); err == nil {
			if held++; i < 40 {
				t.Errorf("an old one, %d, is held", i)
			}
		}
	}
	if held != maxDevicesOf {
		t.Errorf("%d of one address", held)
	}
	for i := range 2 * maxDevices {
		d.mustBegin(t, Viewer, fmt.Sprintf("10.0.%d.%d", i/256, i%256))
	}
	if len(d.byCode) != maxDevices {
		t.Errorf("%d wait", len(d.byCode))
	}
}

func TestCodesForPeopleDiffer(t *testing.T) {
	d, _ := newTestDevices()
	seen := map[string]bool{}
	for i := range 200 {
		_, begun := d.mustBegin(t, Viewer, fmt.Sprintf("10.1.%d.1", i))
		if len(begun.UserCode) != userCodeSize+1 || begun.UserCode[userCodeSize/2] != '-' || seen[begun.UserCode] {
			t.Errorf("code %q", begun.UserCode)
		}
		seen[begun.UserCode] = true
	}
}

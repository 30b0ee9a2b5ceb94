package guard

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// Bounds of logins that programs ask for (as RFC 8628 has it).
const (
	DeviceLife    = 10 * time.Minute // of a code
	maxDevices    = 1000             // that wait; the oldest makes room
	maxDevicesOf  = 10               // of them, of one address
	userCodeChars = "BCDFGHJKLMNPQRSTVWXZ"
	userCodeSize  = 8
)

// DeviceRequest is what a program asks for.
type DeviceRequest struct {
	Name   string // of the machine, in its own word
	Scope  Scope
	Until  time.Time // when the token ends
	Remote string    // the address that it asks from
}

// Device is a program that waits for a person.
type Device struct {
	DeviceRequest
	UserCode string    // what the person compares, such as BCDF-GHJK
	Ends     time.Time // of the code
	Decided  bool
	Approved bool
	By       Caller // who decided
}

// ErrNoDevice says that nothing waits with a code: it is wrong, has ended, or was decided.
var ErrNoDevice = errors.New("no program waits with this code: it is wrong, is older than ten minutes, or was used")

// Devices are the programs that wait for a person to log them in. They end with the process:
// who waits asks again. Safe for concurrent use.
type Devices struct {
	now     func() time.Time
	entropy io.Reader

	mu     sync.Mutex
	byCode map[string]*Device // by the hash of what the program alone knows
}

// NewDevices returns a place where none waits.
func NewDevices(now func() time.Time, entropy io.Reader) *Devices {
	return &Devices{now: now, entropy: entropy, byCode: map[string]*Device{}}
}

// Now is the time by which codes end.
func (d *Devices) Now() time.Time { return d.now() }

// Begin lets a program wait. deviceCode is what it asks with, and nobody else knows.
func (d *Devices) Begin(r DeviceRequest) (deviceCode string, begun Device, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	secret := make([]byte, 32+userCodeSize)
	if _, err := io.ReadFull(d.entropy, secret); err != nil {
		return "", Device{}, fmt.Errorf("make a code: %w", err)
	}
	deviceCode = base64.RawURLEncoding.EncodeToString(secret[:32])
	begun = Device{DeviceRequest: r, UserCode: userCode(secret[32:]), Ends: d.now().Add(DeviceLife)}
	d.makeRoom(networkOf(r.Remote))
	kept := begun
	d.byCode[hashOf(deviceCode)] = &kept
	return deviceCode, begun, nil
}

// userCode is a code of consonants, of which no word is made. A byte more than twelve
// rounds of the alphabet makes one letter a little more frequent: 34 bits are left.
func userCode(random []byte) string {
	var code strings.Builder
	for i, b := range random {
		if i == userCodeSize/2 {
			code.WriteByte('-')
		}
		code.WriteByte(userCodeChars[int(b)%len(userCodeChars)])
	}
	return code.String()
}

// makeRoom forgets those that have ended, and the oldest where too many wait.
func (d *Devices) makeRoom(network string) {
	now := d.now()
	maps.DeleteFunc(d.byCode, func(_ string, one *Device) bool { return !now.Before(one.Ends) })
	d.keep(maxDevicesOf-1, func(one *Device) bool { return networkOf(one.Remote) == network })
	d.keep(maxDevices-1, func(*Device) bool { return true })
}

// keep forgets the oldest of those that are meant, until at most so many are left.
func (d *Devices) keep(most int, meant func(*Device) bool) {
	var codes []string
	for code, one := range d.byCode {
		if meant(one) {
			codes = append(codes, code)
		}
	}
	slices.SortFunc(codes, func(a, b string) int { return d.byCode[a].Ends.Compare(d.byCode[b].Ends) })
	for _, code := range codes[:max(len(codes)-most, 0)] {
		delete(d.byCode, code)
	}
}

// Find returns the program that waits with a code, however that is written. ErrNoDevice.
func (d *Devices) Find(userCode string) (Device, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if found := d.find(userCode); found != nil {
		return *found, nil
	}
	return Device{}, ErrNoDevice
}

func (d *Devices) find(userCode string) *Device {
	letters := strings.Map(func(r rune) rune {
		if strings.ContainsRune(userCodeChars, r) {
			return r
		}
		return -1
	}, strings.ToUpper(userCode))
	for _, one := range d.byCode {
		if strings.ReplaceAll(one.UserCode, "-", "") == letters && !one.Decided && d.now().Before(one.Ends) {
			return one
		}
	}
	return nil
}

// Decide logs a program in, or refuses it. A person gives no scope that they lack.
// ErrNoDevice.
func (d *Devices) Decide(userCode string, approve bool, by Caller) (Device, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	found := d.find(userCode)
	if found == nil {
		return Device{}, ErrNoDevice
	}
	if approve && !by.Scope.Allows(found.Scope) {
		return *found, fmt.Errorf("it asks for the scope %s, and you have %s", found.Scope, by.Scope)
	}
	found.Decided, found.Approved, found.By = true, approve, by
	return *found, nil
}

// Take returns the program of a code that it alone knows. One that was decided about is
// forgotten with that. ErrNoDevice.
func (d *Devices) Take(deviceCode string) (Device, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	code := hashOf(deviceCode)
	found := d.byCode[code]
	if found == nil || !d.now().Before(found.Ends) {
		return Device{}, ErrNoDevice
	}
	if found.Decided {
		delete(d.byCode, code)
	}
	return *found, nil
}

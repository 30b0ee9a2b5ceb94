package mail

import (
	"errors"
	"net"
	"testing"

	"github.com/flowrun/flowrun/sdk"
)

// farConn is a connection to an address that a test has no host at.
type farConn struct {
	net.Conn
	address string
}

func (c farConn) RemoteAddr() net.Addr { return farAddr(c.address) }

type farAddr string

func (farAddr) Network() string  { return "tcp" }
func (a farAddr) String() string { return string(a) }

// Without TLS a message goes to private networks alone, and a password to this machine alone.
func TestWhatGoesInClear(t *testing.T) {
	for address, c := range map[string]struct{ message, password bool }{
		"127.0.0.1:25": {true, true}, "[::1]:25": {true, true}, "[::ffff:127.0.0.1]:25": {true, true}, "10.1.2.3:25": {true, false}, "192.168.1.1:25": {true, false}, "172.16.0.1:25": {true, false},
		"100.64.0.1:25": {true, false}, "169.254.1.1:25": {true, false}, "[fd00::1]:25": {true, false}, "[fe80::1]:25": {true, false}, "[::ffff:10.0.0.1]:25": {true, false},
		"93.184.216.34:25": {}, "[2606:4700::1111]:25": {}, "172.32.0.1:25": {}, "100.128.0.1:25": {}, "0.0.0.0:25": {}, "[64:ff9b::1]:25": {},
	} {
		s := &session{call: &call{Config: Config{Host: "mail.example.com", Security: securityNone, Username: "me", Password: "x", Auth: authAuto}}}
		refused := func(err error) bool {
			failure, is := errors.AsType[*sdk.Error](err)
			return is && failure.Code == sdk.CodeForbidden && failure.Applied == sdk.NotApplied && failure.Hint != ""
		}
		if err := s.judgeAddress(farConn{address: address}); (err == nil) != c.message || err != nil && !refused(err) {
			t.Errorf("a message to %s: %v", address, err)
		}
		if c.message && !c.password && !refused(s.login()) {
			t.Errorf("a password to %s is not refused", address)
		}
		if s.loopback != c.password {
			t.Errorf("%s is taken for this machine: %t", address, s.loopback)
		}
		s.call.Config.Security = "starttls"
		if err := s.judgeAddress(farConn{address: address}); err != nil {
			t.Errorf("over TLS to %s: %v", address, err)
		}
	}
}

package mail

import (
	"context"
	"crypto/tls"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/wneessen/go-mail/smtp"

	"github.com/flowrun/flowrun/sdk"
)

// quitWithin is how long the server may take to say goodbye: nothing depends on it.
const quitWithin = 3 * time.Second

// session is one conversation with a server. One goroutine has it.
type session struct {
	call     *call
	wire     *wire
	client   *smtp.Client
	stage    string // what is being done, for messages: "EHLO", "RCPT ann@example.com"
	loopback bool   // the server is on this machine
	broken   bool   // there is nobody to say goodbye to
	stop     func() bool
}

// open connects, secures the connection and logs in. Nothing of a message was sent where it
// fails.
func (p *plugin) open(c *call) (*session, error) {
	conn, err := c.Dial(c.Config.Host, strconv.Itoa(c.Config.port()))
	if err != nil {
		failure := sdk.NotSent(err)
		if is, ok := failure.(*sdk.Error); ok { //nolint:errorlint // Dial gives it bare
			is.Message = "connect to " + c.Config.Host + ":" + strconv.Itoa(c.Config.port()) + ": " + is.Message
		}
		return nil, failure
	}
	s := &session{call: c, wire: newWire(conn, c.Config.timeout(), p.now)}
	s.stop = context.AfterFunc(c, func() { _ = conn.Close() }) // what reads or writes then ends
	if err := s.begin(conn); err != nil {
		s.drop()
		return nil, err
	}
	return s, nil
}

// begin brings a connection to where a message can be sent.
func (s *session) begin(conn net.Conn) error {
	if err := s.judgeAddress(conn); err != nil {
		return err
	}
	if err := s.greet(); err != nil {
		return err
	}
	s.stage = "EHLO"
	if err := s.client.Hello(s.helo()); err != nil {
		return s.failed(err)
	}
	if err := s.secure(); err != nil {
		return err
	}
	return s.login()
}

// judgeAddress refuses to send in clear to who is not near.
func (s *session) judgeAddress(conn net.Conn) error {
	at, err := netip.ParseAddrPort(conn.RemoteAddr().String())
	if err != nil {
		return sdk.Refused(sdk.CodeInternal, "the address that is connected to can't be read: %v", err)
	}
	address := at.Addr().Unmap()
	s.loopback = address.IsLoopback()
	if s.call.Config.Security == securityNone && !s.loopback && !address.IsPrivate() && !address.IsLinkLocalUnicast() && !sharedSpace().Contains(address) {
		return sdk.Forbidden("the connection says security: none, and %s has the address %s, which is of no private network", s.call.Config.Host, address).
			WithHint("use starttls or tls: mail that goes in clear is read and changed on its way")
	}
	return nil
}

// sharedSpace is the network of providers (RFC 6598), which counts as private.
func sharedSpace() netip.Prefix { return netip.MustParsePrefix("100.64.0.0/10") }

// greet makes the client, over TLS where it begins with that, and takes the greeting.
func (s *session) greet() error {
	transport := net.Conn(s.wire)
	if s.call.Config.Security == securityTLS {
		s.stage = "TLS"
		config, err := s.call.TLSConfig(s.call.Config.Host)
		if err != nil {
			return err
		}
		secured := tls.Client(s.wire, config)
		if err := secured.HandshakeContext(s.call); err != nil {
			return s.failed(err)
		}
		transport = secured
	}
	s.stage = "the greeting"
	client, err := smtp.NewClient(transport, s.call.Config.Host)
	if err != nil {
		return s.failed(err)
	}
	s.client = client
	s.client.SkipSMTPUTF8(true)
	return nil
}

// secure goes over to TLS where the connection says so, or not on at all.
func (s *session) secure() error {
	if s.call.Config.Security == securityTLS || s.call.Config.Security == securityNone {
		return nil
	}
	s.stage = "STARTTLS"
	if offered, _ := s.client.Extension("STARTTLS"); !offered {
		return sdk.Forbidden("the server %s offers no TLS (STARTTLS), and the connection sends nothing in clear", s.where()).
			WithReason("no_tls").WithHint("set security: tls where it speaks TLS from the first byte, as on port 465; somebody between may also have taken the offer out")
	}
	config, err := s.call.TLSConfig(s.call.Config.Host)
	if err != nil {
		return err
	}
	s.wire.stepwise = true
	if err := s.client.StartTLS(config); err != nil {
		return s.failed(err)
	}
	return nil
}

// helo is the name to greet with: the setting, or the address of this end (RFC 5321,
// 4.1.3).
func (s *session) helo() string {
	if s.call.Config.Helo != "" {
		return s.call.Config.Helo
	}
	at, err := netip.ParseAddrPort(s.wire.LocalAddr().String())
	switch {
	case err != nil:
		return "localhost"
	case at.Addr().Unmap().Is4():
		return "[" + at.Addr().Unmap().String() + "]"
	}
	return "[IPv6:" + at.Addr().WithZone("").String() + "]"
}

func (s *session) where() string {
	return s.call.Config.Host + ":" + strconv.Itoa(s.call.Config.port())
}

// extension is the parameter of an extension of the server as a number, 0 where there is
// none.
func (s *session) extension(name string) int64 {
	_, text := s.client.Extension(name)
	number, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
	if err != nil {
		return 0
	}
	return number
}

// end says goodbye and closes. What the server says to it changes nothing.
func (s *session) end() {
	if !s.broken {
		s.wire.timeout = min(s.wire.timeout, quitWithin)
		_ = s.client.Quit()
	}
	s.drop()
}

// drop closes without a word.
func (s *session) drop() {
	s.stop()
	_ = s.wire.Close()
}

// checkConnection greets the server, logs in and asks for nothing.
func (p *plugin) checkConnection(c *call) (string, error) {
	s, err := p.open(c)
	if err != nil {
		return "", err
	}
	defer s.end()
	s.stage = "NOOP"
	if err := s.client.Noop(); err != nil {
		return "", s.failed(err)
	}
	return c.Config.Username, nil
}

package sdk

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/netip"
	"reflect"
	"syscall"
)

// NetworkSettings bound the addresses that a plugin connects to which speaks another
// protocol than HTTP: embed them in its config, beside `ca_file` and ClientCertificate
// where it speaks TLS, and connect with Call.Dial. An address that is no public one is
// connected to only where Private or Networks grant it. Plugins of HTTP services embed
// ReachSettings instead. The SDK for Python does not have them.
type NetworkSettings struct {
	Private  bool     `json:"private" default:"false" doc:"Allow addresses of private networks and of this machine (10.0.0.0/8, 172.16.0.0/12, 192.168.0.0/16, 100.64.0.0/10, 127.0.0.0/8, fc00::/7, ::1)"`
	Networks []string `json:"networks,omitempty" doc:"Further networks that are allowed, as CIDR: 169.254.0.0/16"`
}

// check says which of the networks is none.
func (s NetworkSettings) check() []Problem {
	_, problems := networksOf(s.Networks)
	return problems
}

// networksOf reads networks that are written as CIDR.
func networksOf(texts []string) (networks []netip.Prefix, problems []Problem) {
	for i, text := range texts {
		network, err := netip.ParsePrefix(text)
		if err != nil {
			problems = append(problems, Problemf(Pointer("networks", i), "is no network").WithDetail("write it as CIDR, such as 10.20.0.0/16 or fd00::/8"))
			continue
		}
		networks = append(networks, plainPrefix(network))
	}
	return networks, problems
}

// embeddedSettings finds settings that are embedded in a config, a pointer to a struct.
func embeddedSettings[T any](config any) (settings T, has bool) {
	v := reflect.ValueOf(config)
	if v.Kind() != reflect.Pointer || v.IsNil() || v.Elem().Kind() != reflect.Struct {
		return settings, false
	}
	for i := range v.Elem().NumField() {
		field := v.Elem().Type().Field(i)
		if !field.Anonymous || !field.IsExported() {
			continue
		}
		if found, is := v.Elem().Field(i).Interface().(T); is {
			return found, true
		}
	}
	return settings, false
}

// Dial connects to host and port over TCP, where the NetworkSettings that the config embeds
// allow the address: it is looked at when it is connected to, after the name was looked
// up. It takes at most ten seconds and ends with the call. The error is an *Error of
// NetworkError, and nothing was sent.
func (c *Call[C]) Dial(host, port string) (net.Conn, error) {
	settings, _ := embeddedSettings[NetworkSettings](&c.Config)
	bounds := &reach{private: settings.Private}
	bounds.networks, _ = networksOf(settings.Networks) // checked when the connection was opened
	dialer := &net.Dialer{Timeout: dialTimeout}
	dialer.ControlContext = bounds.control(host)
	if problem := problemOfHost(host); problem != "" {
		return nil, NotSent(c.NetworkError(&ReachError{Host: plain(cut(host, 128)), why: "the host " + problem}))
	}
	conn, err := dialer.DialContext(c, "tcp", net.JoinHostPort(host, port))
	if err != nil {
		return nil, NotSent(c.NetworkError(err))
	}
	return conn, nil
}

// TLSConfig is a new configuration of TLS for a host, with what `ca_file`, `cert_file` and
// `key_file` of the config say. TLS 1.2 is the oldest that is spoken.
func (c *Call[C]) TLSConfig(host string) (*tls.Config, error) {
	roots, err := trustedRoots(c.core.conn.settings.CAFile)
	if err != nil {
		return nil, Refused(CodeInvalid, "ca_file: %v", err)
	}
	own, err := clientCertificate(&c.Config).load()
	if err != nil {
		return nil, Refused(CodeInvalid, "cert_file: %v", err)
	}
	return &tls.Config{ServerName: host, RootCAs: roots, Certificates: own, MinVersion: tls.VersionTLS12}, nil
}

// NetworkError makes the error of a connection that failed, in words for people:
// CodeUnavailable, CodeTimeout or CodeCanceled, or CodeForbidden where the connection may
// not go there. What was applied is for the plugin to say.
func (c *Call[C]) NetworkError(err error) *Error {
	failure := Errorf(CodeUnavailable, "%s", plain(cut(c.core.masks.now().text(networkWords(err)), 300)))
	failure.Err = err
	if ended := contextError(c, err); ended != nil {
		failure.Code, failure.Message = ended.Code, ended.Message
	}
	if refused, is := errors.AsType[*ReachError](err); is {
		failure.Code, failure.Message, failure.Hint = CodeForbidden, refused.Error(), refused.hint()
	}
	if isTLS(err) {
		failure.Hint = "check the host and, for a private certificate authority, ca_file"
	}
	return failure
}

// control judges each address when it is connected to.
func (r *reach) control(host string) func(context.Context, string, string, syscall.RawConn) error {
	return func(_ context.Context, _, resolved string, _ syscall.RawConn) error {
		at, err := netip.ParseAddrPort(resolved)
		if err != nil {
			return err
		}
		if refused := r.checkAddress(plain(cut(host, 128)), at.Addr()); refused != nil {
			return refused
		}
		return nil
	}
}

package sdk

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"strings"
	"syscall"
)

// transportFaults are what Go's HTTP client says of answers that are none, and
// what a person reads instead.
var transportFaults = []struct{ has, says string }{
	{"response headers exceeded", "the headers of the answer are larger than 64 KiB"},
	{"multiple Content-Length", "the answer gives its length twice, and differently"},
	{"bad Content-Length", "the answer gives no length that is a number"},
	{"unsupported transfer encoding", "the answer has a Transfer-Encoding that is not known"},
	{"too many transfer encodings", "the answer has several Transfer-Encodings"},
	{"malformed MIME header", "the headers of the answer are broken or cut short"},
	{"malformed HTTP", "what came back is no HTTP"},
	{"1xx", "the answer is made of interim responses only"},
	{"unexpected EOF", "the headers of the answer are cut short"},
	{"server closed", "the connection ended before an answer"},
	{"server gave HTTP response to HTTPS client", "it answers in HTTP where base_url says https"},
	{"first record does not look like a TLS handshake", "it does not speak TLS where base_url says https"},
	{"connection broken", "the connection ended before an answer"},
}

// networkWords says why there is no answer, without Go's words for it.
func networkWords(err error) string {
	if errors.Is(err, io.EOF) {
		return "the connection ended before an answer"
	}
	if refused, is := errors.AsType[*ReachError](err); is {
		return refused.Error()
	}
	if words := connectionWords(err); words != "" {
		return words
	}
	text := err.Error()
	for _, fault := range transportFaults {
		if strings.Contains(text, fault.has) {
			return fault.says
		}
	}
	return strings.TrimPrefix(strings.TrimPrefix(text, "net/http: "), "http: ")
}

// connectionWords says why there is no connection: of names, of addresses, of
// certificates. "" = that is not what is wrong.
func connectionWords(err error) string {
	var (
		lookup *net.DNSError
		failed *net.OpError
		system syscall.Errno
		verify *tls.CertificateVerificationError
	)
	switch {
	case errors.As(err, &lookup) && lookup.IsNotFound:
		return "no host " + lookup.Name + " is known"
	case errors.As(err, &lookup):
		return "the name " + lookup.Name + " can't be looked up"
	case errors.As(err, &verify):
		return "its certificate can't be verified: " + strings.TrimPrefix(verify.Err.Error(), "x509: ")
	case !errors.As(err, &failed) || !errors.As(err, &system):
		return ""
	}
	var dialed *net.OpError
	switch {
	case failed.Op == "proxyconnect" && errors.As(failed.Err, &dialed) && dialed.Addr != nil:
		return "the proxy " + dialed.Addr.String() + ": " + system.Error()
	case failed.Op == "dial":
		return system.Error()
	}
	return "the connection broke: " + system.Error()
}

// isTLS reports whether a failure is one of TLS: of certificates, or of what was
// agreed on.
func isTLS(err error) bool {
	text := err.Error()
	return strings.Contains(text, "x509:") || strings.Contains(text, "tls:")
}

// cutWords says why a body could not be read to its end, to be put behind a
// message: nothing where the connection just ended.
func cutWords(err error) string {
	text := err.Error()
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return ""
	case strings.HasPrefix(text, "gzip: "), strings.HasPrefix(text, "flate: "):
		return ": it says that it is packed with gzip, and is not"
	case strings.Contains(text, "chunk"):
		return ": its chunks can't be read"
	}
	return ": " + strings.TrimPrefix(text, "http: ")
}

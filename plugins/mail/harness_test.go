package mail

import (
	"bytes"
	"crypto/rand"
	"crypto/tls"
	"encoding/json"
	"io"
	"mime"
	"mime/multipart"
	"net"
	"net/mail"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/flowrun/flowrun/plugins/auth/authsim"
	"github.com/flowrun/flowrun/plugins/mail/mailsim"
	"github.com/flowrun/flowrun/sdk"
	"github.com/flowrun/flowrun/sdk/sdktest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// in is shorthand for an input.
type in = map[string]any

// listen is a port of this machine.
func listen(t *testing.T) net.Listener {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	return listener
}

// simulate starts the simulator, and returns the settings that lead to it.
func simulate(t *testing.T, o mailsim.Options) (*mailsim.Sim, in) {
	t.Helper()
	sim, listener := mailsim.New(o), listen(t)
	served := make(chan error, 1)
	go func() { served <- sim.Serve(listener) }()
	t.Cleanup(func() {
		sim.Close()
		if err := <-served; err != nil {
			t.Errorf("the simulator ended with %v", err)
		}
	})
	return sim, settings(listener)
}

// settings lead to a server on this machine that has no TLS.
func settings(listener net.Listener) in {
	return in{"host": "127.0.0.1", "port": listener.Addr().(*net.TCPAddr).Port, "security": "none", "private": true, "from": "Reports <reports@example.com>", "timeout": "20s"}
}

// with are settings with others.
func with(config in, more in) in {
	all := in{}
	for _, part := range []in{config, more} {
		for name, value := range part {
			all[name] = value
		}
	}
	return all
}

// authority makes the identity of a server on this machine, and the file of who vouches
// for it.
func authority(t *testing.T) (*tls.Config, string) {
	t.Helper()
	certificate, pem, err := authsim.Certificate(time.Now(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(file, pem, 0o600); err != nil {
		t.Fatal(err)
	}
	return &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12}, file
}

// open opens the plugin with a connection.
func open(t *testing.T, config in) *sdktest.Plugin {
	t.Helper()
	return sdktest.Open(t, New(), config)
}

// anyKey is another idempotency key than any other: the message of a call of its own.
func anyKey() sdktest.Option { return sdktest.Key(rand.Text()) }

// hello is a message that is in order.
func hello(more in) in {
	return with(in{"to": []any{"ann@example.com"}, "subject": "Hello", "text": "Hello, Ann.\n"}, more)
}

// outputOf is the output of a call that must succeed.
func outputOf(t *testing.T, r sdktest.Result) sent {
	t.Helper()
	if r.Err != nil {
		t.Fatalf("got %v (%v)", r.Err, r.Err.Details)
	}
	var out sent
	r.Decode(t, &out)
	return out
}

// fails checks the error of a call.
func fails(t *testing.T, r sdktest.Result, code sdk.Code, applied sdk.Applied, text string) *sdk.Error {
	t.Helper()
	if r.Err == nil || r.Err.Code != code || r.Err.Applied != applied || !strings.Contains(r.Err.Message, text) {
		applied := sdk.AppliedUnknown
		if r.Err != nil {
			applied = r.Err.Applied
		}
		t.Fatalf("got %v, %s (output %s), want %s with %q", r.Err, applied, r.Output, code, text)
	}
	return r.Err
}

// part is a leaf of a message.
type part struct {
	mediaType string
	params    map[string]string
	filename  string
	body      string
}

// partsOf takes a message apart with what is not the plugin's own: Go's mail and mime.
func partsOf(t *testing.T, raw []byte) (mail.Header, []part) {
	t.Helper()
	m, err := mail.ReadMessage(bytes.NewReader(raw))
	if err != nil {
		t.Fatalf("%v in\n%s", err, raw)
	}
	body, err := io.ReadAll(m.Body)
	if err != nil {
		t.Fatal(err)
	}
	return m.Header, leaves(t, m.Header.Get, body)
}

func leaves(t *testing.T, header func(string) string, body []byte) []part {
	t.Helper()
	mediaType, params, err := mime.ParseMediaType(header("Content-Type"))
	if err != nil {
		t.Fatalf("%v: %q", err, header("Content-Type"))
	}
	if !strings.HasPrefix(mediaType, "multipart/") {
		p := part{mediaType: mediaType, params: params, body: decoded(t, header("Content-Transfer-Encoding"), body)}
		if _, disposition, err := mime.ParseMediaType(header("Content-Disposition")); err == nil {
			p.filename = disposition["filename"]
		}
		return []part{p}
	}
	var all []part
	reader := multipart.NewReader(bytes.NewReader(body), params["boundary"])
	for {
		next, err := reader.NextRawPart()
		if err == io.EOF {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		inner, err := io.ReadAll(next)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, leaves(t, next.Header.Get, inner)...)
	}
}

func jsonOf(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

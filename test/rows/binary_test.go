package rows

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/flowrun/flowrun/internal/testbuild"
	"github.com/flowrun/flowrun/internal/testcommand"
)

// build makes the program of this source, or of the one that an overlay makes of
// it.
func build(t *testing.T, binary, overlay string) error {
	t.Helper()
	if overlay == "" {
		return testbuild.Program(binary, "../../cmd/flowrun")
	}
	args := []string{"build", "-ldflags=-s -w", "-o", binary, "-overlay", overlay}
	out, err := exec.CommandContext(t.Context(), "go", append(args, "../../cmd/flowrun")...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("go build: %w\n%s", err, out)
	}
	return nil
}

// program runs flowrun in a folder of its own. What owns the store is a process;
// commands that ask it run in the process of the tests, every sixteenth and those of
// a spoiled program as processes too.
type program struct {
	binary, dir string
	env         []string
	spoiled     bool         // the binary is of another source than this process
	started     atomic.Int64 // how many commands
}

// ran is what a command left.
type ran struct {
	code           int
	stdout, stderr string
}

// run runs a command and waits for its end.
func (p *program) run(ctx context.Context, args ...string) (ran, error) {
	var (
		r   ran
		err error
	)
	if p.spoiled || p.started.Add(1)%16 == 0 {
		r, err = p.start(ctx, args)
	} else {
		r.code, r.stdout, r.stderr, err = testcommand.Command{Dir: p.dir, Executable: p.binary, Environ: p.env}.Output(args...)
	}
	if err != nil {
		return ran{}, fmt.Errorf("flowrun %s: %w", strings.Join(args, " "), err)
	}
	return r, ctx.Err()
}

// start runs a command as a process.
func (p *program) start(ctx context.Context, args []string) (ran, error) {
	var stdout, stderr bytes.Buffer
	c := exec.CommandContext(ctx, p.binary, args...)
	c.Dir, c.Env, c.Stdout, c.Stderr = p.dir, p.env, &stdout, &stderr
	err := c.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return ran{}, err
	}
	return ran{c.ProcessState.ExitCode(), stdout.String(), stderr.String()}, nil
}

// own starts the process that owns the store: the others are clients of it. The
// cleanup ends it and looks at how it ended.
func (p *program) own(t *testing.T) {
	t.Helper()
	log, err := os.Create(filepath.Join(p.dir, "owner.log"))
	if err != nil {
		t.Fatal(err)
	}
	owner := exec.Command(p.binary, "serve", "--listen", "127.0.0.1:0")
	owner.Dir, owner.Env, owner.Stdout, owner.Stderr = p.dir, p.env, log, log
	if err := owner.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- owner.Wait() }()
	t.Cleanup(func() {
		_ = owner.Process.Signal(os.Interrupt)
		select {
		case <-ended:
		case <-time.After(time.Minute):
			_ = owner.Process.Kill()
			<-ended
			t.Error("flowrun serve did not end")
		}
		_ = log.Close()
	})
	for {
		text, _ := os.ReadFile(log.Name()) // not there yet is not ready yet
		if strings.Contains(string(text), "flowrun serves http://") {
			return
		}
		select {
		case err := <-ended:
			ended <- err
			text, _ = os.ReadFile(log.Name()) // all of it
			t.Fatalf("flowrun serve ended: %v\n%s", err, text)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// callResult is what `flowrun call -o json` prints.
type callResult struct {
	Outputs json.RawMessage            `json:"outputs"`
	Meta    map[string]json.RawMessage `json:"meta"`
	Error   *failure                   `json:"error"`
}

// failure is an error as the command line shows it to programs.
type failure struct {
	Kind       string          `json:"kind"`
	Message    string          `json:"message"`
	Reason     string          `json:"reason"`
	HTTPStatus int             `json:"http_status"`
	Applied    string          `json:"applied"`
	Pointer    string          `json:"pointer"`
	RetryAfter float64         `json:"retry_after_s"`
	Hint       string          `json:"hint"`
	Details    json.RawMessage `json:"details"`
}

// runResult is what `flowrun run -o json` prints.
type runResult struct {
	Run struct {
		ID     string `json:"id"`
		Status string `json:"status"`
	} `json:"run"`
	Outputs map[string]json.RawMessage `json:"outputs"`
	Steps   map[string]struct {
		Status string   `json:"status"`
		Error  *failure `json:"error"`
	} `json:"steps"`
	Error *failure `json:"error"`
}

// authority makes a certificate for loopback and the file that trusts it.
func authority(t *testing.T, dir string) (*tls.Config, string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "rows"}, NotBefore: now.Add(-time.Hour), NotAfter: now.Add(24 * time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "authority.pem")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	return &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}, MinVersion: tls.VersionTLS12}, file
}

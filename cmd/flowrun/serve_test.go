package main_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// serving waits until a `flowrun serve` is there and sets $URL and $SERVE, its
// process id: `serving [STATE]`. The state folder is that beside flowrun.yaml.
func serving(ts *testscript.TestScript, negated bool, args []string) {
	state := ".flowrun/state"
	if len(args) == 1 {
		state = args[0]
	}
	if negated || len(args) > 1 {
		ts.Fatalf("usage: serving [STATE]")
	}
	for end := time.Now().Add(2 * time.Minute); ; time.Sleep(20 * time.Millisecond) {
		var owner struct {
			PID int
			URL string
		}
		data, err := os.ReadFile(ts.MkAbs(state + "/owner.json"))
		// The file of a killed server is still there, and its port may be somebody else's by now.
		if err == nil && json.Unmarshal(data, &owner) == nil && owner.URL != "" && syscall.Kill(owner.PID, 0) == nil && answers(owner.URL) {
			ts.Setenv("URL", owner.URL)
			ts.Setenv("SERVE", strconv.Itoa(owner.PID))
			return
		}
		if time.Now().After(end) {
			ts.Fatalf("no server is there: %v %s", err, data)
		}
	}
}

// answers reports whether somebody listens at the address of a server.
func answers(url string) bool {
	_, address, _ := strings.Cut(url, "://")
	conn, err := net.Dial("tcp", address)
	if err != nil {
		return false
	}
	return conn.Close() == nil
}

// tell sends a signal to the server: `tell HUP`.
func tell(ts *testscript.TestScript, negated bool, args []string) {
	signals := map[string]syscall.Signal{"HUP": syscall.SIGHUP, "TERM": syscall.SIGTERM, "INT": syscall.SIGINT, "KILL": syscall.SIGKILL}
	if negated || len(args) != 1 || signals[args[0]] == 0 {
		ts.Fatalf("usage: tell HUP|TERM|INT|KILL")
	}
	pid, err := strconv.Atoi(ts.Getenv("SERVE"))
	ts.Check(err)
	ts.Check(syscall.Kill(pid, signals[args[0]]))
}

// sendHTTP is the program http of the scripts: `exec http [-H 'Name: value'] [-t
// TOKEN] [-d BODY|@FILE] [-i] [-ca FILE] METHOD URL`. It prints the body on
// stdout and the status on stderr, with -i also the headers, and fails where the
// status is 400 or more. Redirects are not followed.
func sendHTTP() {
	if err := doHTTP(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func doHTTP(args []string) error {
	flags := flag.NewFlagSet("http", flag.ContinueOnError)
	headers := http.Header{}
	flags.Func("H", "header", func(text string) error {
		name, value, _ := strings.Cut(text, ":")
		headers.Add(strings.TrimSpace(name), strings.TrimSpace(value))
		return nil
	})
	token := flags.String("t", "", "token")
	data := flags.String("d", "", "body")
	authority := flags.String("ca", "", "certificate to trust")
	verbose := flags.Bool("i", false, "print headers")
	if err := flags.Parse(args); err != nil || flags.NArg() != 2 {
		return errors.New("usage: http [-H 'Name: value'] [-t TOKEN] [-d BODY|@FILE] [-i] [-ca FILE] METHOD URL")
	}
	body := []byte(*data)
	if file, found := strings.CutPrefix(*data, "@"); found {
		var err error
		if body, err = os.ReadFile(file); err != nil {
			return err
		}
	}
	request, err := http.NewRequest(flags.Arg(0), flags.Arg(1), bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header = headers
	if host := headers.Get("Host"); host != "" {
		request.Host = host
	}
	if len(body) > 0 && headers.Get("Content-Type") == "" {
		headers.Set("Content-Type", "application/json")
	}
	if *token != "" {
		headers.Set("Authorization", "Bearer "+*token)
	}
	transport := &http.Transport{}
	if *authority != "" {
		pool := x509.NewCertPool()
		text, err := os.ReadFile(*authority)
		if err != nil || !pool.AppendCertsFromPEM(text) {
			return fmt.Errorf("no certificate in %s: %w", *authority, err)
		}
		transport.TLSClientConfig = &tls.Config{RootCAs: pool}
		transport.ForceAttemptHTTP2 = true
	}
	return printAnswer(transport, request, *verbose)
}

func printAnswer(transport http.RoundTripper, request *http.Request, verbose bool) error {
	response, err := transport.RoundTrip(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	fmt.Fprintln(os.Stderr, response.Proto, response.Status)
	if verbose {
		_ = response.Header.Write(os.Stderr)
	}
	if _, err := io.Copy(os.Stdout, response.Body); err != nil {
		return err
	}
	if response.StatusCode >= 400 {
		return errors.New("refused")
	}
	return nil
}

// makeCertificate is the program certificate of the scripts: it writes cert.pem
// and key.pem for 127.0.0.1 and the names given.
func makeCertificate() {
	if err := writeCertificate(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func writeCertificate(names []string) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	serial, err := rand.Int(rand.Reader, big.NewInt(1<<62))
	if err != nil {
		return err
	}
	template := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: "flowrun test"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(30 * 24 * time.Hour),
		DNSNames: names, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	certificate, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return err
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	return errors.Join(
		os.WriteFile("cert.pem", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate}), 0o600),
		os.WriteFile("key.pem", pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}), 0o600),
	)
}

//go:build linux

package main_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"io"
	"math/rand/v2"
	"mime"
	"mime/multipart"
	"net"
	"net/mail"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/flowrun/flowrun/internal/testbuild"
)

// A large value of one plugin is attached to a message while it is sent: it arrives as it is,
// and the process that sends it never has it in memory.
func TestIssue16_2_ALargeValueIsAttachedToAMessage(t *testing.T) {
	t.Parallel()
	const size, mostResident = 40 << 20, 80 << 20
	binary, dir, h := buildBinary(t), t.TempDir(), holdMail(t, ".")
	if err := testbuild.Program(filepath.Join(dir, "dump"), "../../plugins/mail/testdata/dump"); err != nil {
		t.Fatal(err)
	}
	port := strconv.Itoa(h.Addr().(*net.TCPAddr).Port)
	write(t, dir, "flowrun.yaml", "plugins: {dump: {source: ./dump}}\nconnections:\n  mail: {plugin: mail, config: {host: 127.0.0.1, port: "+port+", security: none, private: true, from: a@example.com, max_bytes: 67108864}}\n")
	write(t, dir, "send.yaml", `flowrun: v1
name: send
steps:
  - {id: dump, uses: dump.make, with: {bytes: 41943040}}
  - {id: tell, uses: mail.send, with: {to: [ann@example.com], subject: Dump, text: see there, attachments: [{blob: "${{ steps.dump.outputs.file }}"}]}}
`)
	run := exec.Command(binary, "run", "send.yaml")
	run.Dir, run.Env = dir, append(run.Environ(), "XDG_STATE_HOME="+dir)
	var output strings.Builder
	run.Stdout, run.Stderr = &output, &output
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- run.Wait() }()
	select {
	case <-h.arrived:
	case err := <-ended:
		t.Fatalf("%v\n%s", err, output.String())
	}
	resident := residentOf(t, run.Process.Pid, "serve\x00mail")
	close(h.goOn)
	if err := <-ended; err != nil {
		t.Fatalf("%v\n%s", err, output.String())
	}
	t.Logf("the process that sent %d bytes had at most %d MiB", size, resident>>20)
	if resident == 0 || resident > mostResident {
		t.Errorf("the process that sends had %d bytes in memory, at most %d are meant", resident, mostResident)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	m, err := mail.ReadMessage(bytes.NewReader(h.last))
	if err != nil {
		t.Fatal(err)
	}
	_, params, err := mime.ParseMediaType(m.Header.Get("Content-Type"))
	if err != nil {
		t.Fatal(err)
	}
	parts := multipart.NewReader(m.Body, params["boundary"])
	if _, err := parts.NextPart(); err != nil { // the text
		t.Fatal(err)
	}
	attached, err := parts.NextPart()
	if err != nil || attached.FileName() != "dump.bin" {
		t.Fatalf("%v, %v", attached, err)
	}
	got, want := sha256.New(), sha256.New()
	_, err = io.Copy(got, base64.NewDecoder(base64.StdEncoding, attached))
	if _, wrong := io.Copy(want, io.LimitReader(rand.NewChaCha8([32]byte{1}), size)); err != nil || wrong != nil || !bytes.Equal(got.Sum(nil), want.Sum(nil)) {
		t.Errorf("the attached file is another one (%v)", err)
	}
}

// residentOf is the most memory, in bytes, that a process below another one has had, whose
// arguments have a text; 0 where there is none.
func residentOf(t *testing.T, above int, has string) (most int64) {
	t.Helper()
	processes, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		t.Fatal(err)
	}
	for _, process := range processes {
		arguments, _ := os.ReadFile(process + "/cmdline") // it may have ended
		status, _ := os.ReadFile(process + "/status")
		if !strings.Contains(string(arguments), has) || !strings.Contains(string(status), "PPid:\t"+strconv.Itoa(above)+"\n") {
			continue
		}
		for line := range strings.Lines(string(status)) {
			if text, is := strings.CutPrefix(line, "VmHWM:"); is {
				kilobytes, err := strconv.ParseInt(strings.Fields(text)[0], 10, 64)
				if err != nil {
					t.Fatal(err)
				}
				most = max(most, kilobytes<<10)
			}
		}
	}
	return most
}

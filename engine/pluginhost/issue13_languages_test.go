//go:build linux

package pluginhost

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	pluginv1 "github.com/flowrun/flowrun/sdk/proto/pluginv1"
)

// nodePlugin serves the protocol with nothing but Node: the answers are messages in
// base64, but for the output of a fetch, whose place is @ (all lengths below 128).
const nodePlugin = `#!/usr/bin/env node
const http2 = require('http2'), fs = require('fs'), path = require('path');
const token = fs.readFileSync(Number(process.env.FLOWRUN_LAUNCH_TOKEN_FD), 'utf8');
const frame = b => { const h = Buffer.alloc(5); h.writeUInt32BE(b.length, 1); return Buffer.concat([h, b]); };
const wrap = b => Buffer.concat([Buffer.from([0x0a, b.length]), b]);
const answers = {'/flowrun.plugin.v1.Plugin/Describe': Buffer.from('%s', 'base64'), '/flowrun.plugin.v1.Plugin/Connect': Buffer.alloc(0), '/grpc.health.v1.Health/Check': Buffer.from([8, 1])};
const server = http2.createServer();
server.on('stream', async (stream, headers) => {
  stream.on('error', () => {});
  stream.resume();
  const called = headers[':path'];
  let status = '0', body = answers[called];
  if (called.startsWith('/flowrun') && headers['flowrun-launch-token'] !== token) { status = '16'; body = undefined; }
  else if (called.endsWith('/Execute')) {
    const text = await fetch('%s').then(r => r.text(), e => 'failed: ' + e.cause);
    const event = wrap(wrap(Buffer.from(JSON.stringify({text}))));
    body = Buffer.concat([Buffer.from([%d << 3 | 2, event.length]), event]);
  } else if (called.endsWith('/Shutdown')) { process.exit(0); }
  else if (!body) status = '12';
  stream.respond({':status': 200, 'content-type': 'application/grpc'}, {waitForTrailers: true});
  stream.on('wantTrailers', () => stream.sendTrailers({'grpc-status': status}));
  if (body) stream.write(frame(body));
  stream.end();
});
const socket = path.join(fs.mkdtempSync(path.join(process.env.PLUGIN_UNIX_SOCKET_DIR, 'n')), 's');
server.listen(socket, () => process.stdout.write('1|1|unix|' + socket + '|grpc|\n'));
process.stdin.resume();
process.stdin.on('end', () => process.exit(0));
`

// TestIssue13_04_ANodePluginFetches under default limits: address space that is
// reserved and not used is nobody's loss.
func TestIssue13_04_ANodePluginFetches(t *testing.T) {
	if _, err := exec.LookPath("node"); err != nil {
		t.Skip("SKIPPED: there is no node")
	}
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "fetched") }))
	defer service.Close()
	object := []byte(`{"type":"object","properties":{"text":{"type":"string"}}}`)
	describe, err := proto.Marshal(&pluginv1.DescribeResponse{
		Name: "evil", Version: "1.0.0", ConfigSchema: object, Plugin: &pluginv1.Capabilities{},
		Actions: []*pluginv1.Action{{Name: "echo", Effect: pluginv1.Effect_EFFECT_READ, InputSchema: object, OutputSchema: object}},
	})
	if err != nil {
		t.Fatal(err)
	}
	completed := (&pluginv1.ExecuteEvent{}).ProtoReflect().Descriptor().Fields().ByName("completed").Number()
	w := scriptWorld(t, fmt.Sprintf(nodePlugin, base64.StdEncoding.EncodeToString(describe), service.URL, completed), nil)
	if got := w.ok("echo", `{}`)["text"]; got != "fetched" {
		t.Errorf("it fetched %v", got)
	}
}

// scriptWorld is a world with one plugin, a script.
func scriptWorld(t *testing.T, script string, change func(*Options)) *world {
	t.Helper()
	path := filepath.Join(t.TempDir(), "plugin")
	if err := os.WriteFile(path, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	return newWorld(t, "good", func(o *Options) {
		o.Sources, o.Limits.Memory = []Source{{Name: "evil", Path: path}}, 0
		if change != nil {
			change(o)
		}
	})
}

// started is what a script without a handshake wrote before it ended.
func (w *world) started() (message, stderr string) {
	w.t.Helper()
	err := w.host.Start(context.Background(), "evil")
	var failure *PluginError
	if !errors.As(err, &failure) {
		w.t.Fatalf("started: %v", err)
	}
	return failure.Message, failure.Stderr
}

// TestIssue13_04_AJVMStarts under default limits. The control is what the limit of
// addresses made of it.
func TestIssue13_04_AJVMStarts(t *testing.T) {
	if _, err := exec.LookPath("java"); err != nil {
		t.Skip("SKIPPED: there is no java")
	}
	message, said := scriptWorld(t, "#!/bin/sh\nexec java -version\n", nil).started()
	if !strings.Contains(message, "exit status 0") || !strings.Contains(said, "version") {
		t.Errorf("%s\n%s", message, said)
	}
	message, said = scriptWorld(t, "#!/bin/sh\nulimit -v 2097152\nexec java -version\n", nil).started()
	if strings.Contains(message, "exit status 0") {
		t.Logf("this JVM lives with 2 GiB of addresses too: %s\n%s", message, said)
	}
}

// TestIssue13_04_APythonScriptRuns from its descriptor, through whatever manages its
// versions, and reads its libraries.
func TestIssue13_04_APythonScriptRuns(t *testing.T) {
	if exec.Command("python3", "-c", "import ssl, json").Run() != nil {
		t.Skip("SKIPPED: there is no python3")
	}
	script := "#!/usr/bin/env python3\nimport ssl, json, sys, tempfile\ntempfile.mkstemp()\nprint('runs', __file__, file=sys.stderr)\nsys.exit(7)\n"
	message, said := scriptWorld(t, script, nil).started()
	if !strings.Contains(message, "exit status 7") || !strings.Contains(said, "runs /proc/self/fd/") {
		t.Errorf("%s\n%s", message, said)
	}
}

// TestIssue13_04_MemoryIsWhatIsUsed: a plugin may reserve what it likes, and ends with an
// error that names the limit when it uses more.
func TestIssue13_04_MemoryIsWhatIsUsed(t *testing.T) {
	w := newWorld(t, "good", func(o *Options) { o.Limits.Memory = 200 << 20 })
	w.ok("reserve", `{"size":8192}`)
	answer := w.call("use", `{"size":1024}`)
	if answer.Failed == nil || answer.Failed.Reason != ReasonLimit || !strings.Contains(answer.Failed.Message, "MiB of memory, 200 MiB are allowed") {
		t.Errorf("1 GiB ended with %+v", answer.Failed)
	}
	free := newWorld(t, "good", nil) // the control: without the limit it is served
	free.ok("use", `{"size":256}`)
}

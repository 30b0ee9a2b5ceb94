package web

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/flowrun/flowrun/engine"
	"github.com/flowrun/flowrun/engine/calls"
	"github.com/flowrun/flowrun/engine/runs"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// state returns a state folder whose socket's path is short enough.
func state(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "fr")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

func listen(t *testing.T, dir string, runs *fakeRuns) (*Socket, *Gate) {
	t.Helper()
	handler, gate := newTestHandler(t, runs)
	socket, err := Listen(dir, Owner{PID: 42, Host: "box"}, nil, handler)
	if err != nil {
		t.Fatal(err)
	}
	return socket, gate
}

// dial returns a client that leaves no connection behind.
func dial(t *testing.T, dir string) *Client {
	t.Helper()
	client, _, err := Dial(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.http.CloseIdleConnections)
	return client
}

func TestP16TheSocketAnswersAndItsModeIsTheAuthority(t *testing.T) {
	dir := state(t)
	socket, _ := listen(t, dir, new(fakeRuns))
	info, err := os.Stat(filepath.Join(dir, "flowrun.sock"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("socket %v, %v", info, err)
	}
	if info, err := os.Stat(filepath.Join(dir, "owner.json")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("owner.json %v, %v", info, err)
	}
	client := dial(t, dir)
	if run, err := client.Result(t.Context(), knownRun); err != nil || run.Run.ID != knownRun {
		t.Errorf("run %+v, %v", run, err)
	}
	client.http.CloseIdleConnections()
	if err := socket.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left in the state folder: %v, %v", left, err)
	}
}

func TestP16OwnerJSONNamesPidHostAndSince(t *testing.T) {
	dir := state(t)
	socket, _ := listen(t, dir, new(fakeRuns))
	defer func() { _ = socket.Close(context.Background()) }()
	data, err := os.ReadFile(filepath.Join(dir, "owner.json"))
	if err != nil {
		t.Fatal(err)
	}
	var object map[string]any
	if err := json.Unmarshal(data, &object); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"pid", "host", "since"} {
		if _, found := object[key]; !found {
			t.Errorf("no %s in %s", key, data)
		}
	}
}

func TestASocketWithALongPathLiesInAShortFolder(t *testing.T) {
	dir := filepath.Join(state(t), strings.Repeat("deep/", 25))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	socket, _ := listen(t, dir, new(fakeRuns))
	owner, err := ReadOwner(dir)
	if err != nil || owner.Socket == "" || len(owner.Socket) > maxSocketPath {
		t.Fatalf("owner %+v, %v", owner, err)
	}
	folder, err := os.Stat(filepath.Dir(owner.Socket))
	if err != nil || folder.Mode().Perm() != 0o700 {
		t.Errorf("folder %v, %v", folder, err)
	}
	client := dial(t, dir)
	client.http.CloseIdleConnections()
	if err := socket.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Dir(owner.Socket)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the folder is still there: %v", err)
	}
}

func TestADeadOwnersSocketIsGone(t *testing.T) {
	dir := state(t)
	socket, _ := listen(t, dir, new(fakeRuns))
	client := dial(t, dir)
	client.http.CloseIdleConnections()
	if err := socket.server.Close(); err != nil {
		t.Fatal(err)
	}
	var gone *GoneError
	if _, err := client.Result(t.Context(), knownRun); !errors.As(err, &gone) || !gone.Unsent {
		t.Errorf("a request to a dead owner: %v", err)
	}
	// What a killed owner leaves behind: a socket file that nobody listens on.
	if err := os.WriteFile(filepath.Join(dir, "flowrun.sock"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := Dial(t.Context(), dir); !errors.As(err, &gone) || !gone.Unsent {
		t.Errorf("dial of a dead socket: %v", err)
	}
	next, _ := listen(t, dir, new(fakeRuns))
	dial(t, dir).http.CloseIdleConnections()
	if err := next.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestNobodyAnswersInAnEmptyFolder(t *testing.T) {
	var gone *GoneError
	if _, _, err := Dial(t.Context(), state(t)); !errors.As(err, &gone) || !gone.Unsent {
		t.Errorf("error %v", err)
	}
}

func TestAClosedGateAnswersThatNothingWasDone(t *testing.T) {
	runs := new(fakeRuns)
	handler, gate := newTestHandler(t, runs)
	client := NewClient(InProcess(handler))
	if gate.CloseWhenIdle(func() bool { return true }) {
		t.Fatal("the gate closed on a busy owner")
	}
	if !gate.CloseWhenIdle(func() bool { return false }) {
		t.Fatal("the gate stays open on an idle owner")
	}
	_, _, err := client.Start(t.Context(), engine.StartRequest{})
	var gone *GoneError
	if !errors.As(err, &gone) || !gone.Unsent || len(runs.started) > 0 {
		t.Errorf("start behind a closed gate: %v", err)
	}
}

func TestTheGateWaitsForWhatIsInFlight(t *testing.T) {
	runs := &fakeRuns{calls: make(chan struct{})}
	handler, gate := newTestHandler(t, runs)
	client := NewClient(InProcess(handler))
	heard, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		if _, err := client.Call(t.Context(), calls.Request{}, heardSink{new(said), heard}); err != nil {
			t.Error(err)
		}
	}()
	<-heard
	if gate.CloseWhenIdle(func() bool { return false }) {
		t.Error("the gate closed on a call in flight")
	}
	close(runs.calls)
	<-ended
	for !gate.CloseWhenIdle(func() bool { return false }) {
	}
}

// heardSink tells when the call's prompt came.
type heardSink struct {
	*said
	heard chan struct{}
}

func (s heardSink) Prompt(runs.Prompt) { close(s.heard) }

func TestStreamsEndWithTheGate(t *testing.T) {
	hold := make(chan struct{})
	defer close(hold)
	handler, gate := newTestHandler(t, &fakeRuns{hold: hold})
	stream, err := NewClient(InProcess(handler)).Watch(t.Context(), knownRun, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	gate.Close()
	if update, err := stream.Next(); err == nil {
		t.Errorf("the stream goes on with %+v", update)
	}
}

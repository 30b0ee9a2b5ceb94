package pluginhost

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/google/go-cmp/cmp"

	"github.com/flowrun/flowrun/sdk/proto/handshake"
	pluginv1 "github.com/flowrun/flowrun/sdk/proto/pluginv1"
)

// askHost asks the host socket of a process for a value of its state, with the right
// launch token.
func askHost(t *testing.T, socket, token string) codes.Code {
	t.Helper()
	client, conn, err := hostClient(socket, token)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	ctx := metadata.AppendToOutgoingContext(context.Background(), handshake.RunKey, "run-1")
	_, err = client.GetState(ctx, &pluginv1.GetStateRequest{Scope: "plugin", Key: "k"}, grpc.WaitForReady(false))
	return status.Code(err)
}

// TestIssue13_04OnlyItsOwnProcessSpeaksToAHostSocket: a neighbour that has stolen the
// launch token is hung up on. This process is no child of the plugin, as a neighbour
// is none.
func TestIssue13_04OnlyItsOwnProcessSpeaksToAHostSocket(t *testing.T) {
	w := newWorld(t, "good", nil)
	const kept = "put true, again false, got v at 1"
	want := map[string]any{
		"plugin": kept, "connection/main": kept, "run": kept,
		"connection/other": "PermissionDenied", "all": "InvalidArgument", "another run": "PermissionDenied", "wrong token": "Unauthenticated",
	}
	if diff := cmp.Diff(want, w.ok("state", `{}`)); diff != "" {
		t.Errorf("the plugin itself (-want +got):\n%s", diff)
	}
	u := w.host.plugins["evil"].inForce
	u.mu.Lock()
	p := u.process
	u.mu.Unlock()
	if code := askHost(t, p.services.path, p.token); code != codes.Unavailable {
		t.Errorf("a stranger with the launch token: %s", code)
	}
	// Control: where this process counts as one of the plugin's, the same call is
	// taken.
	for name, pid := range map[string]int{"the process itself": os.Getpid(), "a descendant": os.Getppid()} {
		socket := filepath.Join(t.TempDir(), "h")
		s, err := serve(p, socket)
		if err != nil {
			t.Fatal(err)
		}
		s.belongTo(pid)
		if code := askHost(t, socket, p.token); code != codes.OK {
			t.Errorf("%s: %s", name, code)
		}
		s.close()
	}
}

package engine

import (
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/flowrun/flowrun/engine/fault"
)

// TestIssue13_07ReadyIsNotSaidWithoutRoom: a balancer that asks hears what a start
// would hear.
func TestIssue13_07ReadyIsNotSaidWithoutRoom(t *testing.T) {
	var free atomic.Uint64
	free.Store(50 << 30)
	e, err := dbEngine(t, t.TempDir(), room(&free))
	if err != nil {
		t.Fatal(err)
	}
	defer closeEngine(t, e)
	if err := e.Ready(); err != nil {
		t.Errorf("with room: %v", err)
	}
	free.Store(300 << 20)
	var full *fault.StoreError
	if err := e.Ready(); !errors.As(err, &full) || full.Fault != fault.StoreFull || !strings.Contains(err.Error(), "314572800") {
		t.Errorf("without: %v", err)
	}
	_, _, err = e.Start(t.Context(), StartRequest{File: "hello.yaml", Source: []byte(helloWorkflow)})
	if !errors.As(err, &full) {
		t.Errorf("a start: %v", err)
	}
	free.Store(50 << 30)
	if err := e.Ready(); err != nil {
		t.Errorf("with room again: %v", err)
	}
}

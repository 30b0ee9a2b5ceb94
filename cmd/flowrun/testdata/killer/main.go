//go:build linux

// Command killer is a plugin that kills the engine in the middle of a call.
package main

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/flowrun/flowrun/sdk"
)

type in struct {
	File string `json:"file,omitempty"` // where deliveries are counted
}

type out struct {
	Count int `json:"count"`
}

type call = sdk.Call[struct{}]

// version is set by the linker: the same plugin with other bytes.
var version = "1.0.0"

// kill ends the engine without a word, as a power cut would, after a moment in
// which other calls go on.
func kill() (out, error) {
	time.Sleep(300 * time.Millisecond)
	_ = syscall.Kill(os.Getppid(), syscall.SIGKILL) // this process ends with it
	time.Sleep(time.Minute)
	return out{}, nil
}

// killUnless kills the engine unless FILE.spare says not to.
func killUnless(file string) (out, error) {
	if _, err := os.Stat(file + ".spare"); err == nil {
		return out{Count: count(file)}, nil
	}
	return kill()
}

func count(file string) int {
	data, _ := os.ReadFile(file) // one that is not there counts nothing
	return strings.Count(string(data), "\n")
}

func note(c *call, file, what string) error {
	f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(f, "%s %s\n", what, c.Run.IdempotencyKey); err != nil {
		return err
	}
	return f.Close()
}

func main() {
	sdk.New("killer", version, "Kills the engine",
		sdk.Read("read", "Kill the engine, unless FILE.spare is there", func(_ *call, i in) (out, error) { return killUnless(i.File) }),
		sdk.Read("nap", "Sleep for a moment", func(*call, in) (out, error) {
			time.Sleep(20 * time.Millisecond)
			return out{Count: 1}, nil
		}),
		sdk.Once("deliver", "Deliver, then kill the engine before the answer", func(c *call, i in) (out, error) {
			if err := note(c, i.File, "delivered"); err != nil {
				return out{}, err
			}
			return killUnless(i.File)
		}, sdk.ReconcileWith(func(c *call, i in) (sdk.Reconciled[out], error) {
			data, err := os.ReadFile(i.File)
			if err != nil || !strings.Contains(string(data), c.Run.IdempotencyKey) {
				return sdk.Reconciled[out]{Applied: sdk.NotApplied, Note: "no delivery has its key"}, nil
			}
			return sdk.Reconciled[out]{Applied: sdk.AppliedFully, Output: &out{Count: count(i.File)}, Note: "found by its key"}, nil
		})),
		sdk.Once("lose", "Kill the engine before anything is delivered", func(c *call, i in) (out, error) {
			if _, err := os.Stat(i.File + ".spare"); err != nil {
				return kill()
			}
			return out{Count: 1}, note(c, i.File, "delivered")
		}, sdk.ReconcileWith(func(c *call, i in) (sdk.Reconciled[out], error) {
			data, _ := os.ReadFile(i.File)
			if strings.Contains(string(data), c.Run.IdempotencyKey) {
				return sdk.Reconciled[out]{Applied: sdk.AppliedFully}, nil
			}
			return sdk.Reconciled[out]{Applied: sdk.NotApplied}, nil
		})),
	).Serve()
}

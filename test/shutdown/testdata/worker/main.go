// Command worker is a plugin whose actions leave a line in a ledger: when they
// begin and when they end.
package main

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"

	"github.com/flowrun/flowrun/sdk"
)

type in struct {
	Ledger string `json:"ledger"`
	Key    string `json:"key"`
	MS     int    `json:"ms,omitempty"`
}

type out struct {
	Key string `json:"key"`
}

type call = sdk.Call[struct{}]

// note appends a line in one write: lines of several processes do not mix.
func note(in in, what string) error {
	file, err := os.OpenFile(in.Ledger, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer file.Close()
	_, err = fmt.Fprintf(file, "%s %s\n", what, in.Key)
	return err
}

func work(_ *call, in in) (out, error) {
	if err := note(in, "begin"); err != nil {
		return out{}, err
	}
	time.Sleep(time.Duration(in.MS) * time.Millisecond) // whether it was canceled or not
	return out{Key: in.Key}, note(in, "end")
}

// orphan starts a child that outlives the plugin and goes on with its effects.
func orphan(_ *call, in in) (out, error) {
	if err := note(in, "begin"); err != nil {
		return out{}, err
	}
	child := exec.Command("sh", "-c", `trap "" HUP TERM INT; while :; do echo "child $$" >> "$0"; sleep 0.005; done`, in.Ledger)
	child.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := child.Start(); err != nil {
		return out{}, err
	}
	time.Sleep(time.Duration(in.MS) * time.Millisecond)
	return out{Key: in.Key}, nil
}

// fragile crashes as long as the file of its key is there.
func fragile(_ *call, in in) (out, error) {
	if _, err := os.Stat(in.Ledger + ".broken"); err == nil {
		os.Exit(9)
	}
	return out{Key: in.Key}, note(in, "end")
}

func main() {
	sdk.New("worker", "1.0.0", "Leaves lines in a ledger",
		sdk.Once("once", "Do something that must not be done twice", work),
		sdk.Keyed("keyed", "Do something under a key", work),
		sdk.Read("read", "Look at something", work),
		sdk.Read("fragile", "Crash while something is broken", fragile),
		sdk.Read("orphan", "Leave a child behind", orphan),
	).Serve()
}

// Command orphans is a plugin whose action starts a process that loses its parent: who
// must wait for it then is the first process of the container.
package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"github.com/flowrun/flowrun/sdk"
)

type leave struct {
	Seconds int `json:"seconds" jsonschema:"how long the orphan lives"`
}

type left struct {
	PID int `json:"pid" jsonschema:"of the orphan"`
}

type slow struct {
	Seconds int `json:"seconds" jsonschema:"how long the call takes"`
}

type done struct {
	Calls int `json:"calls" jsonschema:"how often the action was called"`
}

func main() {
	if len(os.Args) == 3 {
		if err := descend(os.Args[1], os.Args[2]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	sdk.New("orphans", "1.0.0", "Leaves processes behind",
		sdk.Read("leave", "Start a process whose parent ends at once", leaveOne),
		sdk.Once("slow", "Take a while, and count the calls in a file", countSlowly),
	).Serve()
}

// descend is this program as the orphan's parent, which tells its pid, or as the orphan.
func descend(role, seconds string) error {
	lasts, err := strconv.Atoi(seconds)
	if err != nil {
		return err
	}
	if role == "orphan" {
		time.Sleep(time.Duration(lasts) * time.Second)
		return nil
	}
	orphan := exec.Command("/proc/self/exe", "orphan", seconds)
	if err := orphan.Start(); err != nil {
		return err
	}
	_, err = fmt.Println(orphan.Process.Pid)
	return err
}

func leaveOne(_ *sdk.Call[struct{}], in leave) (left, error) {
	var output bytes.Buffer
	parent := exec.Command("/proc/self/exe", "parent", strconv.Itoa(in.Seconds))
	parent.Stdout, parent.Stderr = &output, os.Stderr
	if err := parent.Run(); err != nil {
		return left{}, fmt.Errorf("start the orphan's parent: %w", err)
	}
	pid, err := strconv.Atoi(string(bytes.TrimSpace(output.Bytes())))
	return left{pid}, err
}

func countSlowly(_ *sdk.Call[struct{}], in slow) (done, error) {
	file := filepath.Join(os.Getenv("HOME"), "calls")
	calls, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return done{}, err
	}
	calls = append(calls, '.')
	if err := os.WriteFile(file, calls, 0o600); err != nil {
		return done{}, err
	}
	time.Sleep(time.Duration(in.Seconds) * time.Second)
	return done{len(calls)}, nil
}

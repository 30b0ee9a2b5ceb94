//go:build linux

package triggers

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/flowrun/flowrun/internal/testparallel"
	"github.com/flowrun/flowrun/sdk"
)

// roleVariable makes the test program a server: it holds the role as JSON.
const roleVariable = "FLOWRUN_TRIGGERS_ROLE"

// TestMain is a plugin when the engine starts the test program as one, and a
// server when a test does.
func TestMain(m *testing.M) {
	if len(os.Args) == 4 && os.Args[1] == "plugins" && os.Args[2] == "serve" {
		feedPlugin().Serve()
		return
	}
	if text := os.Getenv(roleVariable); text != "" {
		var r role
		err := json.Unmarshal([]byte(text), &r)
		if err == nil {
			err = r.serve()
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	testparallel.AtLeast(6)
	os.Exit(m.Run())
}

func program() string {
	path, err := os.Executable()
	if err != nil {
		return os.Args[0]
	}
	return path
}

type feedConfig struct {
	Dir string `json:"dir" doc:"Where list.json lies; each look leaves a mark there"`
}

type item struct {
	ID      int64 `json:"id"`
	Version int64 `json:"version"`
}

type feedOut struct {
	Items []item `json:"items"`
}

// The files of a project that the plugin reads and writes.
const (
	listFile = "list.json"
	lookFile = "looks"
)

// feedPlugin lists what stands in a file.
func feedPlugin() *sdk.Plugin {
	return sdk.New("feed", "1.0.0", "A list in a file", sdk.Read("list", "Read the list", func(c *sdk.Call[feedConfig], _ struct{}) (out feedOut, err error) {
		mark, err := os.OpenFile(filepath.Join(c.Config.Dir, lookFile), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			return out, err
		}
		if _, err := mark.WriteString("."); err != nil {
			return out, err
		}
		if err := mark.Close(); err != nil {
			return out, err
		}
		data, err := os.ReadFile(filepath.Join(c.Config.Dir, listFile))
		if err != nil {
			return out, err
		}
		return out, json.Unmarshal(data, &out)
	}))
}

// Command words is a third party's plugin that needs what lies beside it: it counts words
// with a list of a file of its tree. It tells too what it finds in its environment and
// in files, for the tests of what it was granted.
package main

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/flowrun/flowrun/sdk"
)

type text struct {
	Text string `json:"text"`
}

type counted struct {
	Words int    `json:"words"`
	List  string `json:"list"`
}

// count leaves out the words of stop.txt, which lies beside the program.
func count(_ *sdk.Call[struct{}], in text) (counted, error) {
	stop, err := os.ReadFile("data/stop.txt")
	if err != nil {
		return counted{}, sdk.Invalid("", "read its list: %v", err)
	}
	n := 0
	for word := range strings.FieldsSeq(in.Text) {
		if !strings.Contains(" "+strings.ReplaceAll(string(stop), "\n", " ")+" ", " "+word+" ") {
			n++
		}
	}
	return counted{Words: n, List: strings.TrimSpace(string(stop))}, nil
}

type look struct {
	Env  string `json:"env,omitempty" doc:"A variable"`
	File string `json:"file,omitempty" doc:"A file"`

	Command []string `json:"command,omitempty" doc:"A program to start"`
	Address string   `json:"address,omitempty" doc:"Where to connect to" example:"127.0.0.1:80"`
}

type seen struct {
	Env  string `json:"env"`
	All  int    `json:"all" doc:"How many variables there are that hold the word canary"`
	File string `json:"file"`

	Command string `json:"command" doc:"What it printed, or that it was refused"`
	Address string `json:"address" doc:"tried, or refused by the system"`
}

// start starts a program.
func start(command []string) string {
	if len(command) == 0 {
		return ""
	}
	printed, err := exec.Command(command[0], command[1:]...).Output()
	if err != nil {
		return "refused"
	}
	return strings.TrimSpace(string(printed))
}

// connect says whether a connection was forbidden: whether somebody listens is no matter.
func connect(address string) string {
	if address == "" {
		return ""
	}
	conn, err := net.DialTimeout("tcp", address, 5*time.Second)
	if errors.Is(err, fs.ErrPermission) {
		return "refused"
	}
	if err == nil {
		_ = conn.Close()
	}
	return "tried"
}

func see(_ *sdk.Call[struct{}], in look) (seen, error) {
	out := seen{Env: os.Getenv(in.Env), Command: start(in.Command), Address: connect(in.Address)}
	for _, entry := range os.Environ() {
		if strings.Contains(entry, "canary") {
			out.All++
		}
	}
	if in.File != "" {
		content, err := os.ReadFile(in.File)
		if err != nil {
			out.File = "refused"
			return out, nil
		}
		out.File = strings.TrimSpace(string(content))
	}
	return out, nil
}

func main() {
	sdk.New("words", "1.0.0", "Counts words",
		sdk.Read("count", "Count words", count),
		sdk.Read("see", "Tell what it was given", see),
	).Serve()
}

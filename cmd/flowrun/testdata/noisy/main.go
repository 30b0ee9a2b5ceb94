// Command noisy is a plugin that prints: on its start, in a call, and before it dies. What
// it prints has its secret, so that the scripts see what becomes of that.
package main

import (
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/flowrun/flowrun/sdk"
)

type config struct {
	Key string `json:"key,omitempty" secret:"true" doc:"Its secret"`
}

type sayIn struct {
	Text string `json:"text" doc:"What it prints to stderr"`
}

type sayOut struct {
	PID   int    `json:"pid"`
	Times int    `json:"times" doc:"How often it was asked, as the host's state has it"`
	Text  string `json:"text"`
}

func say(c *sdk.Call[config], in sayIn) (sayOut, error) {
	fmt.Fprintf(os.Stderr, "saying %s with %s\n", in.Text, c.Config.Key)
	state := c.State().OfPlugin()
	entry, err := state.Get("times")
	if err != nil {
		return sayOut{}, err
	}
	times, _ := strconv.Atoi(string(entry.Value)) // empty at first
	if _, err := state.Put("times", []byte(strconv.Itoa(times+1)), entry.Version, 0); err != nil {
		return sayOut{}, err
	}
	return sayOut{PID: os.Getpid(), Times: times + 1, Text: in.Text}, nil
}

type sleepIn struct {
	Ms int `json:"ms"`
}

type sleepOut struct {
	Slept int `json:"slept"`
}

func sleep(c *sdk.Call[config], in sleepIn) (sleepOut, error) {
	select {
	case <-time.After(time.Duration(in.Ms) * time.Millisecond):
		return sleepOut{in.Ms}, nil
	case <-c.Done():
		return sleepOut{}, c.Err()
	}
}

type dieIn struct {
	Lines int `json:"lines,omitempty" doc:"How many lines it prints before"`
}

type dieOut struct{}

// die ends the process by a panic that no call contains.
func die(c *sdk.Call[config], in dieIn) (dieOut, error) {
	for i := range in.Lines {
		fmt.Fprintf(os.Stderr, "line %d before the end\n", i)
	}
	key := c.Config.Key
	go panic("no place left for " + key)
	<-c.Done()
	return dieOut{}, c.Err()
}

func main() {
	sdk.New("noisy", "1.0.0", "Prints and dies",
		sdk.Read("say", "Print a text", say),
		sdk.Read("sleep", "Take a while", sleep, sdk.Timeout(300*time.Millisecond)),
		sdk.Read("die", "End the process", die),
	).Serve()
}

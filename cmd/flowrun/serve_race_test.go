//go:build linux

package main_test

import (
	"bufio"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// TestOfServersThatStartAtOnceOneServes: the others exit with 73 and say where
// the first is.
func TestOfServersThatStartAtOnceOneServes(t *testing.T) {
	t.Parallel()
	binary, dir := buildBinary(t), t.TempDir()
	write(t, dir, "flowrun.yaml", "server: {listen: \"127.0.0.1:0\"}\n")
	for range 3 {
		const starts = 5
		var done sync.WaitGroup
		serving := make(chan *exec.Cmd, starts)
		refused := make(chan string, starts)
		for range starts {
			done.Go(func() {
				server := exec.Command(binary, "serve")
				server.Dir = dir
				stderr, err := server.StderrPipe()
				if err == nil {
					err = server.Start()
				}
				if err != nil {
					t.Error(err)
					return
				}
				lines := bufio.NewScanner(stderr)
				said := ""
				for lines.Scan() {
					said += lines.Text() + "\n"
					if strings.Contains(said, "log in, once") {
						serving <- server
						said = "" // it ends when it is told to
					}
				}
				_ = server.Wait() // its exit code says how
				if code := server.ProcessState.ExitCode(); code == 73 {
					refused <- said
				} else if code != 143 {
					t.Errorf("exit code %d: %s", code, said)
				}
			})
		}
		for range starts - 1 {
			if said := <-refused; !strings.Contains(said, "serves this store already") {
				t.Errorf("refused with %q", said)
			}
		}
		if err := (<-serving).Process.Signal(syscall.SIGTERM); err != nil {
			t.Error(err)
		}
		done.Wait()
		if len(serving) > 0 {
			t.Error("two servers at once")
		}
	}
}

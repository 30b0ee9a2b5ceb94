package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/flowrun/flowrun/bench/figures"
	"github.com/flowrun/flowrun/bench/probe"
)

// watched is how many watch a run.
const watched = 50

// watchers measures a run of 1,000 items that nobody watches, in turns with one that many
// do, over HTTP: readers that take what they get packed, as browsers and Go's client do, and
// readers that don't ask for that, as curl and flowrun's own commands. All of them unpack,
// look through each line, and share the processors with the engine: what they take is told
// apart. The run waits for an approval until all of them are there.
func watchers(ctx context.Context, b *bench) error {
	dir, err := b.project(keepAll + "workflows: [workflows]\n")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // below the folder that is removed at the end
	text := strings.Replace(items(b.size(1000, 20), "uses: bench.read, with: {n: \"${{ x }}\"}"), "steps:\n", "steps:\n  - {id: ask, uses: core.approve, with: {message: \"now?\"}}\n", 1)
	if err := writeFiles(dir, map[string]string{"workflows/items.yaml": text}); err != nil {
		return err
	}
	s, err := b.serve(ctx, dir)
	if err != nil {
		return err
	}
	measure := func(count int, plain bool) func() (figures.Sample, error) {
		return func() (figures.Sample, error) { return s.watchedRun(ctx, count, b.size(1000, 20), plain) }
	}
	err = s.logIn(ctx, b, dir)
	if err == nil {
		_, err = measure(0, false)() // the plugin's process is there
	}
	if err == nil {
		err = b.inTurns(
			turn{scenario: "watchers", variant: "none", measure: measure(0, false)},
			turn{scenario: "watchers", variant: "50", measure: measure(watched, false)},
			turn{scenario: "watchers", variant: "50, plain", measure: measure(watched, true)},
		)
	}
	return errors.Join(err, s.stop())
}

// watchedRun starts the run, lets so many watch it, and measures from the approval until
// the run's end was heard, by all of them and by one more that only wants the end.
func (s *server) watchedRun(ctx context.Context, count, units int, plain bool) (figures.Sample, error) {
	ctx, stop := context.WithTimeout(ctx, 2*time.Minute)
	defer stop()
	id, err := s.start(ctx, "items")
	if err != nil {
		return figures.Sample{}, err
	}
	for status := ""; status != "waiting"; time.Sleep(2 * time.Millisecond) {
		if status, err = s.statusOf(ctx, id); err != nil {
			return figures.Sample{}, err
		}
	}
	transport := &http.Transport{DisableCompression: plain, ReadBufferSize: 64 << 10}
	defer transport.CloseIdleConnections()
	var watching, open sync.WaitGroup
	errs := make([]error, count)
	open.Add(count)
	for i := range count {
		watching.Go(func() { errs[i] = s.watch(ctx, transport, id, sync.OnceFunc(open.Done)) })
	}
	open.Wait()
	pid := s.command.Process.Pid
	cpu, readers, begun := probe.CPU(pid), probe.CPU(os.Getpid()), time.Now()
	answer, err := s.request(ctx, http.MethodPost, "/runs/"+id+"/steps/ask/approve", "{}")
	if err != nil {
		return figures.Sample{}, err
	}
	answer.Body.Close()
	for status := ""; status != "succeeded"; time.Sleep(2 * time.Millisecond) {
		if status, err = s.statusOf(ctx, id); err != nil {
			return figures.Sample{}, err
		}
		if status == "failed" {
			return figures.Sample{}, fmt.Errorf("run %s failed", id)
		}
	}
	watching.Wait()
	return figures.Sample{
		Units: units, Unit: "item", Wall: time.Since(begun), CPU: probe.CPU(pid) - cpu,
		Values: map[string]float64{"readers CPU ms": float64(probe.CPU(os.Getpid())-readers) / float64(time.Millisecond)},
	}, errors.Join(errs...)
}

// watch reads the stream of a run until its end. opened is called when it has begun, or
// has failed.
func (s *server) watch(ctx context.Context, transport *http.Transport, id string, opened func()) error {
	defer opened()
	answer, err := s.requestBy(ctx, &http.Client{Transport: transport}, http.MethodGet, "/stream?topics=run:"+id, "")
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	lines := bufio.NewScanner(answer.Body)
	lines.Buffer(make([]byte, 64<<10), 8<<20)
	for lines.Scan() {
		opened()
		if string(lines.Bytes()) == "event: end" {
			return nil
		}
	}
	return fmt.Errorf("the stream of run %s ended before the run: %w", id, lines.Err())
}

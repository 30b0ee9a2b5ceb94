package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
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

// reader is what those do who watch a run: what they ask for, and what they do with it.
type reader struct{ plain, looks bool }

// watchers measures a run of 1,000 items that nobody watches, in turns with one that many
// do, over HTTP: readers that take what they get packed, as browsers and Go's client do, and
// readers that don't ask for that, as curl and flowrun's own commands. They only take it off
// their connection: the figure is to say what watchers cost the run, and those of a real
// run are other machines' mostly, while these share the processors with the engine. A third
// kind unpacks all and looks through each line, 50 times on the same two processors: what that
// takes is told apart. The run waits for an approval until all of them are there.
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
	measure := func(count int, kind reader) func() (figures.Sample, error) {
		return func() (figures.Sample, error) { return s.watchedRun(ctx, count, b.size(1000, 20), kind) }
	}
	err = s.logIn(ctx, b, dir)
	if err == nil {
		_, err = measure(0, reader{})() // the plugin's process is there
	}
	if err == nil {
		err = b.inTurns(
			turn{scenario: "watchers", variant: "none", measure: measure(0, reader{})},
			turn{scenario: "watchers", variant: "50", measure: measure(watched, reader{})},
			turn{scenario: "watchers", variant: "50, plain", measure: measure(watched, reader{plain: true})},
			turn{scenario: "watchers", variant: "50, unpacked", measure: measure(watched, reader{looks: true})},
		)
	}
	return errors.Join(err, s.stop())
}

// watchedRun starts the run, lets so many watch it, and measures from the approval until
// the run's end was heard, by all of them and by one more that only wants the end.
func (s *server) watchedRun(ctx context.Context, count, units int, kind reader) (figures.Sample, error) {
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
	transport := &http.Transport{DisableCompression: !kind.looks, ReadBufferSize: 64 << 10}
	defer transport.CloseIdleConnections()
	var watching, open sync.WaitGroup
	errs := make([]error, count)
	open.Add(count)
	for i := range count {
		watching.Go(func() { errs[i] = s.watch(ctx, transport, kind, id, sync.OnceFunc(open.Done)) })
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
func (s *server) watch(ctx context.Context, transport *http.Transport, kind reader, id string, opened func()) error {
	defer opened()
	asks := http.Header{}
	if !kind.looks && !kind.plain {
		asks.Set("Accept-Encoding", "gzip")
	}
	answer, err := s.requestBy(ctx, &http.Client{Transport: transport}, http.MethodGet, "/stream?topics=run:"+id, "", asks)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if packed := answer.Header.Get("Content-Encoding") == "gzip" || answer.Uncompressed; packed == kind.plain {
		return fmt.Errorf("the stream of run %s is packed: %v", id, packed)
	}
	if kind.looks {
		err = toEnd(answer.Body, opened)
	} else {
		err = drain(answer.Body, opened)
	}
	if err != nil {
		return fmt.Errorf("the stream of run %s ended before the run: %w", id, err)
	}
	return nil
}

// toEnd looks through each line until the last event.
func toEnd(body io.Reader, opened func()) error {
	lines := bufio.NewScanner(body)
	lines.Buffer(make([]byte, 64<<10), 8<<20)
	for lines.Scan() {
		opened()
		if string(lines.Bytes()) == "event: end" {
			return nil
		}
	}
	return cmp.Or(lines.Err(), io.ErrUnexpectedEOF)
}

// drain takes what comes, until the server has ended the answer as a whole: it does so behind
// the last event.
func drain(body io.Reader, opened func()) error {
	room := make([]byte, 256<<10)
	for got := 0; ; opened() {
		n, err := body.Read(room)
		switch got += n; {
		case err == io.EOF && got > 0:
			return nil
		case err != nil:
			return err
		}
	}
}

package trigger

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestTheKeysOfAPollAreBounded(t *testing.T) {
	row := &pollRow{Hash: "h", seen: map[digest]seenKey{}}
	for i := range 100 {
		row.seen[digestOf(fmt.Appendf(nil, "%d", i))] = seenKey{poll: uint64(i)}
	}
	row.forget(30)
	data, err := row.encode()
	if err != nil {
		t.Fatal(err)
	}
	read, err := decodePollRow(data)
	if err != nil || len(read.seen) != 30 || read.Hash != "h" {
		t.Fatalf("%+v %v", read, err)
	}
	for i := 70; i < 100; i++ {
		if _, ok := read.seen[digestOf(fmt.Appendf(nil, "%d", i))]; !ok {
			t.Errorf("key %d is among the last seen", i)
		}
	}
	for _, cut := range []int{0, 1, len(data) / 2, len(data) - 1} {
		if _, err := decodePollRow(data[:cut]); err == nil {
			t.Errorf("a row cut at %d was read", cut)
		}
	}
}

// TestPollsAreMadeWhenTheyAreDue runs the loop on a clock of its own.
func TestPollsAreMadeWhenTheyAreDue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		var mu sync.Mutex
		var made []string
		var slow time.Duration
		list := []pollTrigger{{"w", "a", 10 * time.Second}, {"w", "b", time.Minute}}
		ticks := make(chan struct{}, 1)
		ctx, cancel := context.WithCancel(t.Context())
		p := newPolls(time.Now, time.After)
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			p.run(ctx, pollSource{
				changed: ticks,
				list: func(context.Context) ([]pollTrigger, error) {
					mu.Lock()
					defer mu.Unlock()
					return slices.Clone(list), nil
				},
				begin: func(one pollTrigger) time.Time {
					if one.trigger == "b" {
						return begun.Add(25 * time.Second)
					}
					return time.Now()
				},
				poll: func(ctx context.Context, one pollTrigger) {
					mu.Lock()
					made = append(made, fmt.Sprintf("%s@%d", one.trigger, int(time.Since(begun).Seconds())))
					wait := slow
					mu.Unlock()
					select {
					case <-time.After(wait):
					case <-ctx.Done():
					}
				},
			})
		}()
		want := func(texts ...string) {
			t.Helper()
			synctest.Wait()
			mu.Lock()
			defer mu.Unlock()
			if !slices.Equal(made, texts) {
				t.Errorf("after %s: %v, want %v", time.Since(begun), made, texts)
			}
			made = nil
		}
		time.Sleep(31 * time.Second)
		want("a@0", "a@10", "a@20", "b@25", "a@30")
		mu.Lock()
		slow = 25 * time.Second
		list = append(list, pollTrigger{"w", "c", time.Hour})
		mu.Unlock()
		ticks <- struct{}{}
		time.Sleep(30 * time.Second) // 61: the poll of 40 is in flight until 65
		want("c@31", "a@40")
		time.Sleep(5 * time.Second) // 66
		want("a@65")
		mu.Lock()
		list = list[1:]
		list[1].every = time.Minute // the poll of c is due an hour after 31, or a minute
		mu.Unlock()
		ticks <- struct{}{}
		time.Sleep(61 * time.Second)
		want("b@85", "c@126")
		cancel()
		<-ended
		if at, ok := p.next["w/a"]; ok {
			t.Errorf("a poll that is gone is due at %s", at)
		}
	})
}

package cli

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	"github.com/flowrun/flowrun/internal/web"
)

const (
	silence     = 5 * time.Second // without an answer, and it is asked whether the owner still answers at all
	answersSoon = 2 * time.Second // what an owner that lives takes for that at most
)

// noteSilence calls ask, and says so once when the process that owns the store answers
// nobody meanwhile: a stopped one would keep a command waiting without a word.
func (s *session) noteSilence(ctx context.Context, ask func(*web.Client) error) error {
	if s.owner != nil {
		return ask(s.client) // it is this process
	}
	watched, answered := context.WithCancel(ctx)
	var watch sync.WaitGroup
	watch.Go(func() { s.watchOwner(watched, s.client) })
	defer watch.Wait()
	defer answered()
	return ask(s.client)
}

func (s *session) watchOwner(ctx context.Context, client *web.Client) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(cmp.Or(s.silence, silence)):
		}
		asked, cancel := context.WithTimeout(ctx, cmp.Or(s.silence, answersSoon))
		_, err := client.Owner(asked)
		cancel()
		if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
			if s.app.isRemote() {
				s.app.note("the server does not answer; waiting for it")
				return
			}
			s.app.note("process %d, which owns the store, does not answer; waiting for it", s.ownerPID)
			return
		}
	}
}

package conformance

import (
	"context"
	"time"

	pluginv1 "github.com/flowrun/flowrun/sdk/proto/pluginv1"
)

// streamCases try what Execute promises once more, by ExecuteStream, and what a stream
// promises besides.
func streamCases() []testCase {
	return []testCase{
		{
			id: "stream.completes", title: "completes on a stream what it completes by Execute", needs: needsConnection, section: "executestream",
			contract: "A call on the stream is the same as one by Execute.",
			change:   "do for a CallWord with `execute` what Execute does",
			run:      overStream(completesStreamed),
		},
		{
			id: "stream.ends", title: "says nothing of a call on a stream behind its answer", needs: needsConnection, section: "executestream",
			contract: "Completed, Pending and Failed end the call: nothing of it follows.",
			change:   "send nothing of a call when its answer is sent",
			run:      overStream(endsStreamed),
		},
		{
			id: "stream.words", title: "goes on after words of a stream that mean nothing", needs: needsConnection, section: "executestream",
			contract: "Words of calls that are not there are passed over, and a request that can't be read is the failure of its call.",
			change:   "look a word's call up, and pass over one that is not there; answer an unreadable request with a status of that call",
			run:      overStream(passesWordsOver),
		},
		{
			id: "stream.cancel", title: "gives up a canceled call of a stream within a second", needs: needsConnection, section: "executestream",
			contract: "`cancel` ends the call as the cancel of an Execute does, and no other.",
			change:   "give each call of the stream a context of its own, and end it with `cancel`",
			run:      overStream(cancels),
		},
		{
			id: "stream.concurrent", title: "does 64 calls of a stream at the same time", needs: needsConnection, section: "executestream",
			contract: "The calls of a stream run at the same time.",
			change:   "read the stream on while calls run, each in a goroutine or task of its own",
			run:      overStream(concurrently),
		},
		{
			id: "stream.parts", title: "cuts what it says on a stream into parts", needs: needsConnection, section: "executestream",
			contract: "A CallEvent has at most 64 KiB of an event, and of one call at most 256 KiB are under way before the host has taken them.",
			change:   "cut larger events, with `more` on all parts but the last, and wait for `taken`",
			run:      overStream(keepsToParts),
		},
	}
}

// overStream runs a case with its calls on streams, where the plugin has them.
func overStream(run func(context.Context, *kit) error) func(context.Context, *kit) error {
	return func(ctx context.Context, k *kit) error {
		if !k.streams() {
			return skip("it has no feature `execute_stream`")
		}
		k.streaming.Store(true)
		defer k.streaming.Store(false)
		return run(ctx, k)
	}
}

func completesStreamed(ctx context.Context, k *kit) error {
	return k.eachRead(ctx, func(p *process, c *call) error {
		if ended := k.execute(ctx, p, k.request(c, k.key())); !ended.ok() {
			return fault(c.String()+" on a stream", "%s", ended)
		}
		return nil
	})
}

// eachRead does the calls that work and may be made again.
func (k *kit) eachRead(ctx context.Context, do func(p *process, c *call) error) error {
	calls := k.working((*call).reads)
	if len(calls) == 0 {
		return k.noCall("the plugin", (*call).reads)
	}
	p, err := k.connected(ctx)
	if err != nil {
		return err
	}
	for _, c := range calls {
		if err := do(p, c); err != nil {
			return err
		}
	}
	return nil
}

// breachOf finds what the plugin has broken on its stream.
func (k *kit) breachOf(ctx context.Context, want func(*callStream) string, sent string) error {
	err := k.eachRead(ctx, func(p *process, c *call) error {
		_ = k.execute(ctx, p, k.request(c, k.key())) // stream.completes tells
		return nil
	})
	if err != nil {
		return err
	}
	p, err := k.connected(ctx)
	if err != nil {
		return err
	}
	time.Sleep(100 * time.Millisecond) // what comes behind an answer comes late
	s, err := p.streamOf()
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if why := want(s); why != "" {
		return fault(sent, "%s", why)
	}
	return nil
}

func endsStreamed(ctx context.Context, k *kit) error {
	return k.breachOf(ctx, func(s *callStream) string { return s.stray }, "calls on a stream")
}

func keepsToParts(ctx context.Context, k *kit) error {
	return k.breachOf(ctx, func(s *callStream) string { return s.lump }, "calls on a stream")
}

func passesWordsOver(ctx context.Context, k *kit) error {
	return k.oneCall(ctx, "odd words", func(p *process, c *call) error {
		s, err := p.streamOf()
		if err != nil {
			return fault("ExecuteStream", "%v", err)
		}
		const sent = "a cancel and a taken of a call that is not there, and a request that can't be read"
		garbage, _ := s.reserve("a request that can't be read")
		if err := s.say(&pluginv1.CallWord{Call: 1 << 40, Cancel: true}, &pluginv1.CallWord{Call: 1 << 41, Taken: 1 << 20}, &pluginv1.CallWord{Call: garbage, Execute: []byte("\xff\xff\xff\xff")}); err != nil {
			return fault(sent, "%v", err)
		}
		if ended := k.execute(ctx, p, k.request(c, k.key())); !ended.ok() {
			return fault(sent+", and then "+c.String(), "%s", ended)
		}
		return nil
	})
}

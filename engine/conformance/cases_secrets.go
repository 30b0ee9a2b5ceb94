package conformance

import (
	"context"
	"strings"
)

func pendingCases() []testCase {
	return []testCase{{
		id: "pending.resume", title: "goes on from its checkpoint in a new process", needs: needsConnection, section: "execute",
		contract: "pending is stored, then the call is made again after retry_after with this checkpoint, after a crash too.",
		change:   "put all that the next poll needs into the checkpoint, or into the host's state; keep nothing in memory",
		run: func(ctx context.Context, k *kit) error {
			tried := 0
			for _, c := range k.calls {
				if c.first == nil || c.first.pending == nil {
					continue
				}
				tried++
				p, err := k.connected(ctx)
				if err != nil {
					return err
				}
				r := k.request(c, k.key())
				ended := k.execute(ctx, p, r)
				for polls := 0; ended.pending != nil && polls < 10; polls++ {
					if err := pause(ctx, ended.pending); err != nil {
						return err
					}
					if p, err = k.fresh(ctx); err != nil {
						return err
					}
					r.Checkpoint = ended.pending.GetCheckpoint()
					ended = k.execute(ctx, p, r)
				}
				if ended.err != nil || ended.failed != nil {
					return fault(c.String()+", pending, again with its checkpoint in a process after kill -9", "%s", ended)
				}
				if ended.pending != nil {
					return skip(c.action.GetName() + " is pending for longer than the kit waits")
				}
			}
			if tried == 0 {
				return skip("no call here is pending")
			}
			return nil
		},
	}}
}

func secretCases() []testCase {
	return []testCase{
		{
			id: "token.host", title: "presents the launch token to the host", needs: needsDescription, section: "launch-token",
			contract: "Both sides send the metadata flowrun-launch-token with every call; the host refuses calls without it.",
			change:   "add the metadata to every call on FLOWRUN_HOST_SOCKET",
			run: func(_ context.Context, k *kit) error {
				k.memory.mu.Lock()
				defer k.memory.mu.Unlock()
				switch {
				case k.memory.calls == 0:
					return skip("it asked nothing of the host")
				case k.memory.bare > 0:
					return fault("the calls of the cases before", "%d of its %d calls to the host had no launch token, or another", k.memory.bare, k.memory.calls)
				}
				return nil
			},
		},
		secretCase("secrets.told", "tells no secret of its connection or input", "values", "",
			"`message` is safe to show and to store: no secrets, no queries of URLs. Secrets stand in what the schema marks `writeOnly` and in `sensitive` alone.",
			"take secrets out of logs, messages and outputs; mark the output field `writeOnly` (in Go: secret:\"true\") where it must be there"),
		secretCase("secrets.environment", "tells nothing of its environment", "environment", "the ",
			"The environment has what the user granted, and the launch token is for calls alone: neither is told.",
			"print no environment, no arguments of processes, and no metadata of calls"),
	}
}

// secretCase looks for the canaries of one kind in all that was heard.
func secretCase(id, title, section, kind, contract, change string) testCase {
	return testCase{
		id: id, title: title, needs: needsDescription, section: section, contract: contract, change: change,
		run: func(_ context.Context, k *kit) error {
			looked := 0
			for _, c := range k.canaries.all() {
				if own := strings.HasPrefix(c.what, "the granted variable") || c.what == "the launch token"; own != (kind != "") {
					continue
				}
				looked++
				if where := k.ear.find(c.text); where != "" {
					return fault("the calls of the cases before, with a canary in "+c.what, "it stands in %s", where)
				}
			}
			if looked == 0 {
				return skip("it was given no secret of at least 8 characters")
			}
			return nil
		},
	}
}

package conformance

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	pluginv1 "github.com/flowrun/flowrun/sdk/proto/pluginv1"
)

func effectCases() []testCase {
	const contract = "An effect `keyed` is safe to repeat with the same idempotency key, which is stable across attempts and restarts of host and plugin."
	return []testCase{
		{
			id: "effects.twice", title: "does a keyed call with the same key once", needs: needsConnection, section: "effects", contract: contract,
			change: "send run.idempotency_key to the service in the way in which it tells requests apart, the same for each attempt",
			run: func(ctx context.Context, k *kit) error {
				return k.eachKeyed(ctx, func(c *call) error {
					return k.onceFor(ctx, c, "twice with the same idempotency key", func(p *process, r *pluginv1.ExecuteRequest) (*process, error) {
						k.execute(ctx, p, r)
						return p, nil
					})
				})
			},
		},
		{
			id: "effects.key", title: "does a keyed call with another key again", needs: needsConnection, section: "effects",
			contract: "The idempotency key alone says what is the same call: another key is another effect, though the input is the same.",
			change:   "make the key of nothing but run.idempotency_key: one made of the input lets the second order of the same thing vanish",
			run:      anotherKey,
		},
		{
			id: "effects.killed-between", title: "does a keyed call with the same key once, over a kill -9 between two attempts", needs: needsConnection, section: "effects", contract: contract,
			change: "keep nothing in memory that tells the calls apart: a process may end at any time",
			run: func(ctx context.Context, k *kit) error {
				return k.eachKeyed(ctx, func(c *call) error {
					return k.onceFor(ctx, c, "twice with the same idempotency key, with kill -9 between", func(p *process, r *pluginv1.ExecuteRequest) (*process, error) {
						k.execute(ctx, p, r)
						return k.fresh(ctx)
					})
				})
			},
		},
		{
			id: "effects.killed-inside", title: "does a keyed call with the same key once, over a kill -9 inside the first attempt", needs: needsConnection, section: "effects", contract: contract,
			change: "send the same key with the repeated request, so that the service can tell",
			run: func(ctx context.Context, k *kit) error {
				if len(k.seenCalls(isKeyed)) == 0 && len(k.working(isKeyed)) > 0 {
					return skip("no request of a keyed call comes by the kit: it can't hold one")
				}
				return k.eachKeyed(ctx, func(c *call) error {
					return k.onceFor(ctx, c, "with kill -9 after the service has done it, and again with the same key", func(p *process, r *pluginv1.ExecuteRequest) (*process, error) {
						k.service.set(modeHold)
						go k.execute(ctx, p, r)
						if k.awaitEffect(ctx, c) == nil {
							return nil, skip("the call sent nothing that could have an effect")
						}
						p.kill()
						k.memory.releaseLeases()
						k.service.letGo()
						return k.fresh(ctx)
					})
				})
			},
		},
		{
			id: "effects.reconcile", title: "tells what became of a call whose answer was lost", needs: needsConnection, section: "reconcile",
			contract: "Reconcile tells whether an effect happened whose answer was lost. It changes nothing.",
			change:   "look the effect up by what the call sent (its key, its reference); say unknown where that can't tell, never not_applied on a guess",
			run:      reconciles,
		},
	}
}

func isOnce(c *call) bool { return c.action.GetEffect() == pluginv1.Effect_EFFECT_ONCE }

func isKeyed(c *call) bool { return c.action.GetEffect() == pluginv1.Effect_EFFECT_KEYED }

// eachKeyed goes through the calls of keyed actions.
func (k *kit) eachKeyed(ctx context.Context, do func(*call) error) error {
	calls := k.working(isKeyed)
	if len(calls) == 0 {
		for _, a := range k.actions {
			if a.GetEffect() == pluginv1.Effect_EFFECT_KEYED {
				return k.noCall("a keyed action", isKeyed)
			}
		}
		return skip("no action of it is keyed")
	}
	for _, c := range calls[:min(len(calls), 3)] {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err := do(c); err != nil {
			return err
		}
	}
	return nil
}

// onceFor makes a call, has disturb do something of it, makes it again with the same key,
// and judges whether there was one effect.
func (k *kit) onceFor(ctx context.Context, c *call, how string, disturb func(p *process, r *pluginv1.ExecuteRequest) (*process, error)) error {
	p, err := k.connected(ctx)
	if err != nil {
		return err
	}
	before, counted, err := k.count(ctx, p, c.count)
	if err != nil {
		return err
	}
	k.service.pass()
	r := k.request(c, k.key())
	if p, err = disturb(p, r); err != nil {
		return err
	}
	var answers []string
	answers = append(answers, k.effectAnswers()...)
	k.service.pass()
	r.Run.Attempt = 2
	second := k.execute(ctx, p, r)
	answers = append(answers, k.effectAnswers()...)
	k.service.pass()
	sent := c.String() + ", " + how
	if !second.ok() {
		return fault(sent, "the second attempt: %s", second)
	}
	if counted {
		after, _, err := k.count(ctx, p, c.count)
		if err != nil {
			return err
		}
		if after-before != 1 {
			return fault(sent, "%v effects (counted by %s)", after-before, c.count.Action)
		}
		return nil
	}
	r.Run.Attempt = 3
	third := k.execute(ctx, p, r)
	// Where the service was heard, it tells: an output may hold what is of no effect, such as
	// the time of an answer.
	if len(answers) == 0 && third.ok() && string(third.completed.GetOutput().GetJson()) != string(second.completed.GetOutput().GetJson()) {
		return fault(sent, "%s and then %s: two effects", second, third)
	}
	for _, a := range answers {
		if a != answers[len(answers)-1] {
			return fault(sent, "the service answered %s and then %s: two effects", brief([]byte(answers[0])), brief([]byte(answers[len(answers)-1])))
		}
	}
	return nil
}

// effectAnswers are what the service said to the last request that may change something.
func (k *kit) effectAnswers() []string {
	var last []string
	for _, r := range k.service.seen() {
		if !r.effects() {
			continue
		}
		select {
		case <-r.arrived:
			last = []string{r.answer}
		default:
		}
	}
	return last
}

// awaitEffect waits for a request that may change something and that the service has done.
func (k *kit) awaitEffect(ctx context.Context, c *call) *request {
	if !k.sendsEffect(c) {
		return nil
	}
	last := c.requests[len(c.requests)-1]
	for deadline := time.After(5 * time.Second); ; {
		for _, r := range k.service.seen() {
			select {
			case <-r.arrived:
				if r.effects() && r.method+r.uri == last.method+last.uri {
					return r
				}
			default:
			}
		}
		select {
		case <-time.After(5 * time.Millisecond):
		case <-deadline:
			return nil
		case <-ctx.Done():
			return nil
		}
	}
}

// count asks how often an effect happened; counted is false where nothing can tell.
func (k *kit) count(ctx context.Context, p *process, c *Count) (n float64, counted bool, err error) {
	if c == nil {
		return 0, false, nil
	}
	a := k.action(c.Action)
	if a == nil {
		return 0, false, advise("name an action of the plugin in counted_by", "counted_by "+c.Action, "the plugin has no such action")
	}
	ended := k.execute(ctx, p, k.request(&call{action: a, input: orEmpty(c.Input)}, k.key()))
	if !ended.ok() {
		return 0, false, fmt.Errorf("count by %s: %s", c.Action, ended)
	}
	var v any
	if err := json.Unmarshal(ended.completed.GetOutput().GetJson(), &v); err != nil {
		return 0, false, fmt.Errorf("count by %s: %w", c.Action, err)
	}
	part, _ := at(v, c.Pointer)
	switch part := part.(type) {
	case []any:
		return float64(len(part)), true, nil
	case float64:
		return part, true, nil
	}
	return 0, false, advise("point counted_by at a list or a number", "counted_by "+c.Action+" "+c.Pointer, "neither a list nor a number is there")
}

func anotherKey(ctx context.Context, k *kit) error {
	tried := 0
	err := k.eachKeyed(ctx, func(c *call) error {
		p, err := k.connected(ctx)
		if err != nil {
			return err
		}
		before, counted, err := k.count(ctx, p, c.count)
		if err != nil || !counted {
			return err
		}
		tried++
		k.execute(ctx, p, k.request(c, k.key()))
		k.execute(ctx, p, k.request(c, k.key()))
		after, _, err := k.count(ctx, p, c.count)
		if err != nil {
			return err
		}
		if after-before != 2 {
			return fault(c.String()+", twice with different idempotency keys", "%v effects (counted by %s)", after-before, c.count.Action)
		}
		return nil
	})
	if err == nil && tried == 0 {
		return skip("no call in the config says by `counted_by` what counts its effect")
	}
	return err
}

func reconciles(ctx context.Context, k *kit) error {
	tells := false
	for _, feature := range k.described.GetPlugin().GetFeatures() {
		tells = tells || feature == "reconcile"
	}
	if !tells {
		return skip("it does not have the feature `reconcile`")
	}
	calls := k.working(isOnce)
	if len(calls) == 0 {
		return k.noCall("an action of effect once", isOnce)
	}
	tried := 0
	for _, c := range calls {
		p, err := k.connected(ctx)
		if err != nil {
			return err
		}
		r := k.request(c, k.key())
		if !k.execute(ctx, p, r).ok() {
			continue
		}
		sent := "Reconcile after " + c.String() + ", which completed"
		if p, err = k.fresh(ctx); err != nil {
			return err
		}
		k.service.pass()
		said, err := p.rpc.Reconcile(p.authorized(ctx), &pluginv1.ReconcileRequest{Action: c.action.GetName(), Connection: connectionName, Input: r.GetInput(), Run: r.GetRun()})
		if err != nil {
			return fault(sent, "the gRPC error %v", err)
		}
		tried++
		if said.GetApplied() == notApplied {
			return fault(sent, "not_applied: %s", said.GetNote())
		}
		if len(said.GetOutput().GetJson()) > 0 && c.action.output != nil {
			if err := c.action.output.WithoutSecrets().CheckAnswer(said.GetOutput().GetJson()); err != nil {
				return fault(sent, "an output that does not fit the schema: %v", err)
			}
		}
	}
	if tried == 0 {
		return skip("no call of effect once completes again")
	}
	return nil
}

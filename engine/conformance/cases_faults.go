package conformance

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	pluginv1 "github.com/flowrun/flowrun/sdk/proto/pluginv1"
)

func faultCases() []testCase {
	return []testCase{
		{
			id: "faults.declared", title: "fails as it declares", needs: needsConnection, section: "errors",
			contract: "What the service says becomes a code, `reason` is the service's own word, `retry_after` what it asks for; the faults of an action are declared in its description.",
			change:   "map the answer of the service to the code that the description declares",
			run:      declaredFaults,
		},
		{
			id: "faults.refused", title: "tells that the service is not there", needs: needsConnection, section: "errors",
			contract: "unavailable is the network and 5xx. gRPC status is for the transport only.",
			change:   "answer a failed request and a 503 with failed: unavailable",
			run: func(ctx context.Context, k *kit) error {
				return k.withService(ctx, (*call).reads, func(p *process, c *call) error {
					k.service.answerWith(Answer{Status: 503, Body: []byte(`{"error":"down"}`)})
					ended := k.execute(ctx, p, k.request(c, k.key()))
					if ended.failed == nil || codeName(ended.failed.GetCode()) != "unavailable" {
						return fault(c.String()+", which the service answers with 503", "%s; expected is failed: unavailable", ended)
					}
					return nil
				})
			},
		},
		{
			id: "faults.once", title: "sends a request once in one Execute", needs: needsConnection, section: "execute",
			contract: "Execute is one attempt of one request of one page: the engine owns what repeats.",
			change:   "take repetition out of the HTTP client: the engine repeats by the effect, the limits and the time that is left, and counts the attempts",
			run: func(ctx context.Context, k *kit) error {
				return k.withService(ctx, nil, func(p *process, c *call) error {
					k.service.answerWith(Answer{Status: 503, Body: []byte(`{"error":"down"}`)})
					ended := k.execute(ctx, p, k.request(c, k.key()))
					count := map[string]int{}
					for _, r := range k.service.seen() {
						if count[r.String()]++; count[r.String()] > 1 {
							return fault(c.String()+", which the service answers with 503", "%s was sent %d times, then %s", r, len(k.service.seen()), ended)
						}
					}
					return nil
				})
			},
		},
		{
			id: "faults.shapes", title: "fails on an answer that is not JSON, and lives", needs: needsConnection, section: "errors",
			contract: "An answer of the service that is not JSON, or has a wrong shape, is a failed of the call: unexpected_response.",
			change:   "check the answer before it is used, and answer with failed: unexpected_response",
			run:      strangeAnswers,
		},
		{
			id: "faults.lost", title: "does not say that nothing happened when the answer is lost", needs: needsConnection, section: "errors",
			contract: "`applied` says whether the effect happened; not_applied only when that is sure: the connection was refused, or the service said no.",
			change:   "leave applied unknown where the request may have reached the service: the host then asks Reconcile, or a person, in place of sending it twice",
			run: func(ctx context.Context, k *kit) error {
				return k.withService(ctx, func(c *call) bool { return !c.reads() && k.sendsEffect(c) }, func(p *process, c *call) error {
					k.service.set(modeLose)
					ended := k.execute(ctx, p, k.request(c, k.key()))
					lost := slices.ContainsFunc(k.service.seen(), (*request).effects)
					if lost && ended.failed != nil && ended.failed.GetApplied() == notApplied {
						return fault(c.String()+", whose request is done by the service and whose answer is lost", "%s", ended)
					}
					return nil
				})
			},
		},
	}
}

// sendsEffect reports whether the last request of a call may have changed something.
func (k *kit) sendsEffect(c *call) bool {
	return len(c.requests) > 0 && c.requests[len(c.requests)-1].effects()
}

// withService does something with a call whose requests come by the kit.
func (k *kit) withService(ctx context.Context, kind func(*call) bool, do func(p *process, c *call) error) error {
	calls := k.seenCalls(kind)
	if len(calls) == 0 {
		if len(k.working(nil)) == 0 {
			return k.noCall("the plugin", nil)
		}
		return skip("no call of that kind sends a request that comes by the kit")
	}
	defer k.service.pass()
	for _, c := range calls[:min(len(calls), 5)] {
		p, err := k.connected(ctx)
		if err != nil {
			return err
		}
		if err := do(p, c); err != nil {
			return err
		}
	}
	return nil
}

func declaredFaults(ctx context.Context, k *kit) error {
	if len(k.Config.Faults) == 0 {
		return skip("the config gives no faults: what the service answers, and what the plugin makes of it")
	}
	for _, f := range k.Config.Faults {
		a := k.action(f.Action)
		if a == nil {
			return advise("name an action of the plugin", "the config's fault of "+f.Action, "the plugin has no such action")
		}
		p, err := k.connected(ctx)
		if err != nil {
			return err
		}
		k.service.answerWith(f.Answer)
		c := &call{action: a, input: orEmpty(f.Input)}
		ended := k.execute(ctx, p, k.request(c, k.key()))
		status, _, body := f.Answer.write()
		sent := fmt.Sprintf("%s, which the service answers with %d %s", c, status, brief(body))
		want := codeName(codeOf(f.Code))
		if f.Reason != "" {
			want += ", reason " + f.Reason
		}
		e := ended.failed
		switch {
		case e == nil || e.GetCode() != codeOf(f.Code) || f.Reason != "" && e.GetReason() != f.Reason:
			return fault(sent, "%s; expected is failed: %s", ended, want)
		case f.RetryAfter > 0 && e.GetRetryAfter().AsDuration() != time.Duration(f.RetryAfter*float64(time.Second)):
			return fault(sent, "retry_after %s; expected is %v s", e.GetRetryAfter().AsDuration(), f.RetryAfter)
		case !declares(a, e):
			return advise("declare the fault in the description of "+f.Action, sent, "%s, which its description does not declare", ended)
		}
	}
	return nil
}

// declares reports whether an action says of a failure that it may come; of failures that
// every service has it need not.
func declares(a *action, e *pluginv1.Error) bool {
	return e.GetReason() == "" || len(a.GetFaults()) == 0 || slices.ContainsFunc(a.GetFaults(), func(f *pluginv1.Fault) bool {
		return f.GetCode() == e.GetCode() && (f.GetReason() == "" || f.GetReason() == e.GetReason())
	}) || !slices.ContainsFunc(a.GetFaults(), func(f *pluginv1.Fault) bool { return f.GetCode() == e.GetCode() })
}

func strangeAnswers(ctx context.Context, k *kit) error {
	page, _ := json.Marshal("<html><body>Please log in</body></html>") // a text
	return k.withService(ctx, (*call).reads, func(p *process, c *call) error {
		for _, a := range []Answer{
			{Body: page, Headers: map[string]string{"Content-Type": "text/html"}}, {Body: []byte(`[[[]]]`)}, {Body: []byte(`null`)},
		} {
			k.service.answerWith(a)
			ended := k.execute(ctx, p, k.request(c, k.key()))
			sent := fmt.Sprintf("%s, which the service answers with %s", c, brief(a.Body))
			if ended.err != nil || ended.finals == 0 {
				return fault(sent, "%s", ended)
			}
			if ended.ok() && c.action.output != nil && c.action.output.WithoutSecrets().CheckAnswer(ended.completed.GetOutput().GetJson()) != nil {
				return fault(sent, "%s, which its output schema does not describe", ended)
			}
		}
		return nil
	})
}

package conformance

import (
	"context"
	"time"
)

// inTheMiddle begins a call, waits until its request is at the service, which does not
// answer, and hands it to do.
func (k *kit) inTheMiddle(ctx context.Context, do func(p *process, c *call, cancel context.CancelFunc, ended <-chan *answer) error) error {
	calls := k.seenCalls((*call).reads)
	if len(calls) == 0 {
		calls = k.seenCalls(nil)
	}
	if len(calls) == 0 {
		if len(k.working(nil)) > 0 {
			return skip("no call sends a request that comes by the kit: it can hold none in the middle")
		}
		return k.noCall("the plugin", nil)
	}
	p, err := k.connected(ctx)
	if err != nil {
		return err
	}
	k.service.set(modeStall)
	defer k.service.pass()
	calling, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan *answer, 1)
	c := calls[0]
	go func() { ended <- k.execute(calling, p, k.request(c, k.key())) }()
	if k.service.await(ctx, 5*time.Second) == nil {
		select {
		case a := <-ended:
			return skip("the call sent no request this time: it ended with " + a.String())
		default:
		}
		return skip("the call sent no request this time")
	}
	return do(p, c, cancel, ended)
}

func (c *call) reads() bool { return c.action.reads() }

package pluginhost

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/flowrun/flowrun/engine/quota"
	"github.com/flowrun/flowrun/engine/runs"
)

// StateQuotaError says that a plugin's state has no room for what it wants to
// keep: nothing was stored.
type StateQuotaError struct {
	Quota string // quota.State or quota.StateKeys
	Scope string
	Size  int64 // that it would have
	Limit int64
}

func (e *StateQuotaError) Error() string {
	if e.Quota == quota.StateKeys {
		return fmt.Sprintf("the state of scope %s would have %d keys, the limit is %d", e.Scope, e.Size, e.Limit)
	}
	return fmt.Sprintf("the state of scope %s would have %d bytes, the limit is %d", e.Scope, e.Size, e.Limit)
}

// boundValue refuses a value that is larger than its quota.
func (s *services) boundValue(ctx context.Context, value []byte) error {
	limit := s.process.unit.host.options.Limits.Quotas.Of(quota.StateValue)
	if int64(len(value)) <= limit {
		return nil
	}
	return s.overQuota(ctx, &excess{quota: quota.StateValue, field: quota.StateValue, size: int64(len(value)), limit: limit})
}

// stateFault tells a plugin why its state was not written.
func (s *services) stateFault(ctx context.Context, err error) error {
	var full *StateQuotaError
	if !errors.As(err, &full) {
		return s.internal("write state", err)
	}
	return s.overQuota(ctx, &excess{quota: full.Quota, field: full.Quota, size: full.Size, limit: full.Limit})
}

// overQuota answers a plugin that went over a quota, and lets the call fail that
// did so: the one that the plugin names, else those that it has in flight.
func (s *services) overQuota(ctx context.Context, over *excess) error {
	if call := s.process.callOf(ctx); call != nil {
		call.wentOver(over)
	} else {
		s.process.eachCall(func(c *callTokens) { c.wentOver(over) })
	}
	return status.Errorf(codes.ResourceExhausted, "limit: %v", over)
}

// eachCall shows the calls that are in flight.
func (p *process) eachCall(visit func(*callTokens)) {
	p.linking.Lock()
	defer p.linking.Unlock()
	for _, call := range p.calls {
		visit(call)
	}
}

// wentOver notes the first quota that the call broke.
func (c *callTokens) wentOver(over *excess) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over == nil {
		c.over = over
	}
}

// withinQuotas is the answer of a call, or its failure where it broke a quota of
// the state: what the plugin was to keep is not kept, whatever it says.
func (c *callTokens) withinQuotas(e *execution, answer runs.Answer) runs.Answer {
	c.mu.Lock()
	over := c.over
	c.mu.Unlock()
	switch {
	case over == nil:
		return answer
	case answer.Pending != nil:
		return failed(over.failure(e.contract.Name, runs.AppliedPartly))
	case answer.Failed != nil:
		return failed(e.failedAbove(over, answer.Failed))
	}
	return failed(over.failure(e.contract.Name, runs.AppliedFully))
}

package local

import (
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/flowrun/flowrun/engine/plan"
)

// Many runs of a plan that is new compile it once; where that fails, each says so.
func TestManyAtOnceCompileAPlanOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p programs
		var loads, good atomic.Int64
		gate := make(chan struct{})
		load := func() (*plan.Workflow, error) {
			loads.Add(1)
			<-gate
			return &plan.Workflow{Name: "w"}, nil
		}
		for range 10 {
			go func() {
				if c, err := p.of("h", load); err == nil && c.program != nil {
					good.Add(1)
				}
			}()
		}
		synctest.Wait()
		close(gate)
		synctest.Wait()
		if loads.Load() != 1 || good.Load() != 10 {
			t.Errorf("%d compiled, %d of 10 have the plan", loads.Load(), good.Load())
		}
		var failed atomic.Int64
		for range 10 {
			go func() {
				if _, err := p.of("other", func() (*plan.Workflow, error) { return nil, errors.New("no") }); err != nil {
					failed.Add(1)
				}
			}()
		}
		synctest.Wait()
		if failed.Load() != 10 || len(p.making) != 0 {
			t.Errorf("%d of 10 failed, %d are under way", failed.Load(), len(p.making))
		}
	})
}

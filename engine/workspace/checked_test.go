package workspace

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
)

// Many who ask for a file that is new wait for the one that checks it.
func TestWhatIsNewIsCheckedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var plans checkedPlans
		key, kept := planKey{1}, &Checked{}
		hit, checked := plans.begin(t.Context(), key)
		if hit != nil {
			t.Fatal("a plan was kept that nobody has checked")
		}
		var hits atomic.Int64
		for range 10 {
			go func() {
				if hit, _ := plans.begin(t.Context(), key); hit == kept {
					hits.Add(1)
				}
			}()
		}
		canceled, cancel := context.WithCancel(t.Context())
		cancel()
		if hit, checked := plans.begin(canceled, key); hit != nil {
			t.Error("who has gone waits")
		} else {
			checked()
		}
		synctest.Wait()
		if hits.Load() != 0 {
			t.Errorf("%d did not wait", hits.Load())
		}
		plans.keep(key, kept)
		checked()
		synctest.Wait()
		if hits.Load() != 10 {
			t.Errorf("%d of 10 got what was checked", hits.Load())
		}
	})
}

// What has problems is not kept: then each checks for itself, and nobody waits twice.
func TestWhatIsNotKeptIsCheckedByEach(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var plans checkedPlans
		_, checked := plans.begin(t.Context(), planKey{1})
		var own atomic.Int64
		for range 10 {
			go func() {
				if hit, checked := plans.begin(t.Context(), planKey{1}); hit == nil {
					own.Add(1)
					checked()
				}
			}()
		}
		synctest.Wait()
		checked()
		synctest.Wait()
		if own.Load() != 10 {
			t.Errorf("%d of 10 check for themselves", own.Load())
		}
		if len(plans.checking) != 0 {
			t.Errorf("%d checks are under way", len(plans.checking))
		}
	})
}

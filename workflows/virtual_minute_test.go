package workflows_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/flowrun/flowrun/engine/interp"
	"github.com/flowrun/flowrun/engine/journal"
	"github.com/flowrun/flowrun/engine/local"
	"github.com/flowrun/flowrun/engine/memstore"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/ratelimit"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/plugins/netinfo/netinfosim"
)

// TestI19TheRealLimitOn80Domains runs the domain watch under the service's own
// 60 requests a minute, in virtual time: the simulator never has to refuse one,
// and the 80 lookups take one minute, not two.
func TestI19TheRealLimitOn80Domains(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile("domain-expiry-watch.yaml")
	if err != nil {
		t.Fatal(err)
	}
	project := openProject(t)
	defer project.Close()
	workflow, problems := project.Check(t.Context(), "domain-expiry-watch.yaml", source)
	if workflow == nil {
		t.Fatal(problems)
	}
	limit := workflow.Actions["netinfo.whois"].Limiters[0]
	if limit.Requests != 60 || limit.Window != time.Minute || !limit.FixedWindow {
		t.Fatalf("netinfo declares %+v", limit)
	}
	synctest.Test(t, func(t *testing.T) {
		sim := netinfosim.New(netinfosim.Options{Now: time.Now})
		service := &whoisService{handler: sim}
		kept := memstore.New(memstore.Options{})
		driver := local.New(local.Options{
			Journal: kept, Caller: service, Now: time.Now, Log: slog.New(slog.DiscardHandler),
			Limiter: oneBucket{ratelimit.New(time.Now, time.After)},
		})
		began := time.Now()
		id := startVirtual(t, driver, workflow)
		if err := driver.AwaitEnd(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		took := time.Since(began)
		result, err := driver.Snapshot(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		if result.Run.Status != runs.RunSucceeded || len(decode[[]any](t, result.Outputs["results"])) != 80 {
			t.Errorf("run ended as %s: %v", result.Run.Status, result.Error)
		}
		if n := service.refused.Load(); n > 0 {
			t.Errorf("the service refused %d requests", n)
		}
		if took < time.Minute || took > time.Minute+5*time.Second {
			t.Errorf("80 lookups at 60 a minute took %s", took)
		}
		if err := driver.Close(context.Background()); err != nil {
			t.Error(err)
		}
		if err := kept.Close(); err != nil {
			t.Error(err)
		}
	})
}

func startVirtual(t *testing.T, driver *local.Driver, workflow *plan.Workflow) string {
	t.Helper()
	encoded, err := workflow.Encode()
	if err != nil {
		t.Fatal(err)
	}
	hash, err := workflow.Hash()
	if err != nil {
		t.Fatal(err)
	}
	const id = "01jzv1rt000000000000000000"
	var defaults struct {
		Properties map[string]struct {
			Default json.RawMessage `json:"default"`
		} `json:"properties"`
	}
	if err := json.Unmarshal(workflow.Inputs, &defaults); err != nil {
		t.Fatal(err)
	}
	inputs := map[string]json.RawMessage{}
	for name, property := range defaults.Properties {
		inputs[name] = property.Default
	}
	given, err := json.Marshal(inputs)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now().UTC()
	_, _, err = driver.Start(t.Context(), local.StartRequest{
		Row:      runs.Run{ID: id, Workflow: workflow.Name, Attempt: 1, StartedAt: now, ScheduledAt: now, PlanHash: hash},
		Workflow: workflow, PlanBytes: encoded,
		Start: journal.Start{RunID: id, Inputs: given, Interpreter: interp.Version, PlanHash: hash, ScheduledAt: now},
	})
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// oneBucket asks one bucket for each limiter that the action declares.
type oneBucket struct{ limits *ratelimit.Limiter }

func (o oneBucket) Acquire(ctx context.Context, action *plan.Action, _ string, onWait func(time.Time)) (func(runs.Answer), error) {
	declared := action.Limiters[0]
	done, err := o.limits.Acquire(ctx, declared.Name, ratelimit.Spec{
		Requests: declared.Requests, Window: declared.Window, Fixed: declared.FixedWindow,
	}, onWait)
	if err != nil {
		return nil, err
	}
	return func(runs.Answer) { done(time.Now()) }, nil
}

// whoisService asks the simulator's handler directly: sockets have no virtual
// time.
type whoisService struct {
	handler http.Handler
	refused atomic.Int64
}

func (s *whoisService) Call(_ context.Context, request runs.Request, _ runs.Sink) runs.Answer {
	var input struct{ Domain string }
	if err := json.Unmarshal(request.Input, &input); err != nil {
		return runs.Answer{Failed: &runs.Error{Kind: plan.KindInternal, Message: err.Error()}}
	}
	time.Sleep(50 * time.Millisecond) // on the way
	recorder := httptest.NewRecorder()
	s.handler.ServeHTTP(recorder, httptest.NewRequest(http.MethodGet, "/api/v1/whois/"+input.Domain, nil))
	time.Sleep(50 * time.Millisecond) // and back
	if recorder.Code == http.StatusTooManyRequests {
		s.refused.Add(1)
		return runs.Answer{Failed: &runs.Error{Kind: plan.KindRateLimited, Message: "refused", RetryAfterS: 1}}
	}
	var envelope struct{ Data map[string]any }
	if err := json.Unmarshal(recorder.Body.Bytes(), &envelope); err != nil {
		return runs.Answer{Failed: &runs.Error{Kind: plan.KindUnexpectedResponse, Message: err.Error()}}
	}
	output := envelope.Data
	if output == nil {
		output = map[string]any{"domain": input.Domain}
	}
	output["found"] = recorder.Code == http.StatusOK
	output["days_to_expiry"] = 100
	encoded, err := json.Marshal(output)
	if err != nil {
		return runs.Answer{Failed: &runs.Error{Kind: plan.KindInternal, Message: err.Error()}}
	}
	return runs.Answer{Completed: &runs.Completed{Output: encoded}}
}

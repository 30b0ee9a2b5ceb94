package client

import (
	"bufio"
	"bytes"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/flowrun/flowrun/test/client/api"
)

func pointer[T any](value T) *T { return &value }

func TestTheGeneratedClientIsFresh(t *testing.T) {
	fresh := filepath.Join(t.TempDir(), "client.gen.go")
	if out, err := exec.Command("go", "run", "./gen", fresh).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	want, err := os.ReadFile(fresh)
	if err != nil {
		t.Fatal(err)
	}
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile(filepath.Join("api", "client.gen.go"), want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(filepath.Join("api", "client.gen.go"))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Error("the client is not that of docs/openapi.json: run `go -C test/client generate`")
	}
}

func TestARunIsStartedAndRead(t *testing.T) {
	client, ctx := serve(t).client(t, "operator"), t.Context()
	started, err := client.StartRunWithResponse(ctx, "hello", &api.StartRunParams{Wait: pointer("30s"), IdempotencyKey: pointer("k1")},
		api.StartBody{Inputs: pointer(map[string]any{"who": "you"}), InputTexts: pointer(map[string]string{"n": "2"})})
	if err != nil || started.JSON201 == nil {
		t.Fatalf("start: %v %s", err, started.Body)
	}
	run := started.JSON201.Run
	if run.Status != api.RunStatusSucceeded || (*started.JSON201.Outputs)["text"] != "hello you" {
		t.Errorf("answer %s", started.Body)
	}
	again, err := client.StartRunWithResponse(ctx, "hello", &api.StartRunParams{IdempotencyKey: pointer("k1")},
		api.StartBody{Inputs: pointer(map[string]any{"who": "you"}), InputTexts: pointer(map[string]string{"n": "2"})})
	if err != nil || again.JSON201 == nil || again.JSON201.Run.Id != run.Id || again.HTTPResponse.Header.Get("Idempotent-Replayed") != "true" {
		t.Errorf("the same key again: %v %s", err, again.Body)
	}
	other, err := client.StartRunWithResponse(ctx, "hello", &api.StartRunParams{IdempotencyKey: pointer("k1")}, api.StartBody{})
	if err != nil || other.ApplicationproblemJSON422 == nil || other.ApplicationproblemJSON422.Code != "idempotency_key_reused" {
		t.Errorf("another body under that key: %v %s", err, other.Body)
	}
	if got, err := client.GetRunWithResponse(ctx, run.Id, nil); err != nil || got.JSON200 == nil || got.JSON200.Run.Id != run.Id {
		t.Errorf("get: %v %s", err, got.Body)
	}
	list, err := client.ListRunsWithResponse(ctx, &api.ListRunsParams{Label: pointer([]string{"team=docs"}), Status: pointer(api.ListRunsParamsStatusSucceeded)})
	if err != nil || list.JSON200 == nil || len(list.JSON200.Items) != 1 {
		t.Errorf("list: %v %s", err, list.Body)
	}
	if steps, err := client.ListStepsWithResponse(ctx, run.Id, nil); err != nil || steps.JSON200 == nil || len(steps.JSON200.Items) != 2 {
		t.Errorf("steps: %v %s", err, steps.Body)
	}
	if logs, err := client.ListLogsWithResponse(ctx, run.Id, nil); err != nil || logs.JSON200 == nil || logs.JSON200.Items[0].Message != "hello you" {
		t.Errorf("logs: %v %s", err, logs.Body)
	}
	if events, err := client.ListEventsWithResponse(ctx, run.Id, nil); err != nil || events.JSON200 == nil || len(events.JSON200.Items) == 0 {
		t.Errorf("events: %v %s", err, events.Body)
	}
	rerun, err := client.RerunRunWithResponse(ctx, run.Id, nil, api.RerunBody{Inputs: pointer(map[string]any{"who": "us"})})
	if err != nil || rerun.JSON201 == nil || *rerun.JSON201.Run.RerunOf != run.Id {
		t.Errorf("rerun: %v %s", err, rerun.Body)
	}
	resume, err := client.ResumeRunWithResponse(ctx, run.Id, api.ResumeBody{})
	if err != nil || resume.ApplicationproblemJSON409 == nil || resume.ApplicationproblemJSON409.Code != "conflict" {
		t.Errorf("resume of a run that succeeded: %v %s", err, resume.Body)
	}
	if gone, err := client.GetRunWithResponse(ctx, "01zzz", nil); err != nil || gone.ApplicationproblemJSON404 == nil || gone.ApplicationproblemJSON404.Status != 404 {
		t.Errorf("an unknown run: %v %s", err, gone.Body)
	}
}

func TestAStepIsApproved(t *testing.T) {
	client, ctx := serve(t).client(t, "operator"), t.Context()
	started, err := client.StartRunWithResponse(ctx, "hello", nil, api.StartBody{Inputs: pointer(map[string]any{"n": 7})})
	if err != nil || started.JSON201 == nil {
		t.Fatalf("start: %v %s", err, started.Body)
	}
	id := started.JSON201.Run.Id
	response, err := client.Stream(ctx, &api.StreamParams{Topics: pointer("run:" + id + ",runs")})
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	approved, ended := false, false
	for lines := bufio.NewScanner(response.Body); !ended && lines.Scan(); {
		line := lines.Text()
		if !approved && strings.HasPrefix(line, "data: ") && strings.Contains(line, `"form":`) {
			approved = true
			answer, err := client.ApproveStepWithResponse(ctx, id, "ask", api.DecideBody{Form: pointer(map[string]any{"why": "it is polite"}), Comment: pointer("fine")})
			if err != nil || answer.JSON202 == nil {
				t.Fatalf("approve: %v %s", err, answer.Body)
			}
		}
		ended = line == "event: end"
	}
	got, err := client.GetRunWithResponse(ctx, id, nil)
	if err != nil || got.JSON200 == nil || got.JSON200.Run.Status != api.RunStatusSucceeded {
		t.Fatalf("after the approval: %v %s", err, got.Body)
	}
	ask := (*got.JSON200.Steps)["ask"]
	if ask.Decision == nil || !strings.HasPrefix(text(ask.Decision), `{`) || !strings.Contains(text(ask.Decision), "token test-operator from 127.0.0.1") {
		t.Errorf("the decision %s", text(ask.Decision))
	}
}

func TestWorkflowsAndSchedulesAreShown(t *testing.T) {
	client, ctx := serve(t).client(t, "operator"), t.Context()
	workflows, err := client.ListWorkflowsWithResponse(ctx)
	if err != nil || workflows.JSON200 == nil || workflows.JSON200.Items[0].Name != "hello" {
		t.Errorf("workflows: %v %s", err, workflows.Body)
	}
	if detail, err := client.GetWorkflowWithResponse(ctx, "hello"); err != nil || detail.JSON200 == nil || detail.JSON200.Source != hello {
		t.Errorf("workflow: %v %s", err, detail.Body)
	}
	if drawn, err := client.WorkflowGraphWithResponse(ctx, "hello", nil); err != nil || !bytes.HasPrefix(drawn.Body, []byte("<svg")) {
		t.Errorf("graph: %v %.80s", err, drawn.Body)
	}
	if preview, err := client.PlanWithResponse(ctx, api.PlanRequest{Workflow: pointer("hello")}); err != nil || preview.JSON200 == nil || len(*preview.JSON200.Steps) != 2 {
		t.Errorf("plan: %v %s", err, preview.Body)
	}
	wrong := strings.Replace(hello, "core.log", "core.lgo", 1)
	validated, err := client.ValidateWithResponse(ctx, api.ValidateRequest{File: "x.yaml", Source: wrong})
	if err != nil || validated.JSON200 == nil || len(*validated.JSON200.Problems) == 0 {
		t.Errorf("validate: %v %s", err, validated.Body)
	}
	const id = "hello/nightly"
	schedules, err := client.ListSchedulesWithResponse(ctx)
	if err != nil || schedules.JSON200 == nil || schedules.JSON200.Items[0].Id != id || schedules.JSON200.Tzdata == "" {
		t.Errorf("schedules: %v %s", err, schedules.Body)
	}
	if next, err := client.NextFiresWithResponse(ctx, id, &api.NextFiresParams{N: pointer(int64(3))}); err != nil || next.JSON200 == nil || len(*next.JSON200.Next) != 3 {
		t.Errorf("next: %v %s", err, next.Body)
	}
	if paused, err := client.PauseScheduleWithResponse(ctx, id, api.PauseRequest{Reason: pointer("holiday")}); err != nil || paused.JSON200 == nil || !paused.JSON200.Paused {
		t.Errorf("pause: %v %s", err, paused.Body)
	}
	if resumed, err := client.ResumeScheduleWithResponse(ctx, id, api.PauseRequest{}); err != nil || resumed.JSON200 == nil || resumed.JSON200.Paused {
		t.Errorf("resume: %v %s", err, resumed.Body)
	}
	triggered, err := client.TriggerScheduleWithResponse(ctx, id, nil, api.TriggerRequest{})
	if err != nil || triggered.JSON201 == nil || triggered.JSON201.Run.Trigger == "" {
		t.Errorf("trigger: %v %s", err, triggered.Body)
	}
	if fires, err := client.ListFiresWithResponse(ctx, &api.ListFiresParams{Workflow: pointer("hello")}); err != nil || fires.JSON200 == nil {
		t.Errorf("fires: %v %s", err, fires.Body)
	}
}

func TestTheRestOfTheServerIsShown(t *testing.T) {
	s := serve(t)
	client, ctx := s.client(t, "viewer"), t.Context()
	if ready, err := client.ReadyWithResponse(ctx); err != nil || ready.JSON200 == nil || ready.JSON200.Status != "ok" {
		t.Errorf("ready: %v %s", err, ready.Body)
	}
	if health, err := client.HealthWithResponse(ctx); err != nil || health.JSON200 == nil {
		t.Errorf("health: %v %s", err, health.Body)
	}
	if plugins, err := client.ListPluginsWithResponse(ctx); err != nil || plugins.JSON200 == nil || len(plugins.JSON200.Items) < 5 {
		t.Errorf("plugins: %v %s", err, plugins.Body)
	}
	for _, plugin := range []string{"core", "netinfo", "tasks"} {
		if actions, err := client.ListActionsWithResponse(ctx, plugin); err != nil || actions.JSON200 == nil || len(actions.JSON200.Items) == 0 {
			t.Errorf("actions of %s: %v %s", plugin, err, actions.Body)
		}
	}
	if connections, err := client.ListConnectionsWithResponse(ctx); err != nil || connections.JSON200 == nil || connections.JSON200.Items[0].Name != "net" {
		t.Errorf("connections: %v %s", err, connections.Body)
	}
	if document, err := client.OpenapiWithResponse(ctx); err != nil || document.StatusCode() != http.StatusOK {
		t.Errorf("document: %v", err)
	}
	if started, err := client.StartRunWithResponse(ctx, "hello", nil, api.StartBody{}); err != nil || started.StatusCode() != http.StatusForbidden || started.ApplicationproblemJSON403 == nil {
		t.Errorf("a viewer starts a run: %v %s", err, started.Body)
	}
	event, err := client.HookWithBodyWithResponse(ctx, "hello", "hook", "application/json", strings.NewReader(`{}`))
	if err != nil || event.StatusCode() != http.StatusUnauthorized {
		t.Errorf("a token of the API sends a webhook: %v %s", err, event.Body)
	}
}

// TestControlAnAnswerThatMisfitsIsSeen: the comparison with the document is one.
func TestControlAnAnswerThatMisfitsIsSeen(t *testing.T) {
	transport := newCheckedTransport(t)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://127.0.0.1/api/v1/runs/01k8zq4c0vdx3y6t7k9m2n5p8r", nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, body := range map[string]string{
		"no run":         `{"outputs":{},"steps":{},"error":null}`,
		"another type":   `{"run":[],"outputs":{},"steps":{},"error":null}`,
		"another status": `{"run":{"id":"a","workflow":"w","status":"done","attempt":1,"trigger":"manual","scheduled_at":"2026-01-01T00:00:00Z","started_at":"2026-01-01T00:00:00Z","duration_ms":0},"outputs":{},"steps":{},"error":null}`,
	} {
		answer := &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}}
		if err := transport.check(r, answer, []byte(body)); err == nil {
			t.Errorf("%s: nothing is wrong", name)
		}
	}
}

package python

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/testing/protocmp"

	pluginv1 "github.com/flowrun/flowrun/sdk/proto/pluginv1"
)

func startTwinInPython(t *testing.T) *twin {
	t.Helper()
	return startScript(t, "testdata/twin.py")
}

func executeOf(action, input string) *pluginv1.ExecuteRequest {
	return &pluginv1.ExecuteRequest{Action: action, Connection: "main", Input: &pluginv1.Value{Json: []byte(input)}}
}

// connectBoth opens the connection of both at a service.
func connectBoth(t *testing.T, both map[string]*twin, url string) {
	t.Helper()
	for name, w := range both {
		if problems := w.connect(`{"base_url":"` + url + `","api_key":"the-api-key-of-all"}`); problems != nil {
			t.Fatalf("%s: %v", name, problems)
		}
	}
}

// TestIssue15_5_BothSDKsEndCallsAlike: errors by meaning, pending, logs, progress, meta,
// an exception, an output that is too large; and no secret in any of it.
func TestIssue15_5_BothSDKsEndCallsAlike(t *testing.T) {
	t.Parallel()
	both := twins(t)
	connectBoth(t, both, "http://127.0.0.1:1")
	for _, c := range [][2]string{
		{"fail", `{"how":"bug"}`}, {"fail", `{"how":"exit"}`}, {"fail", `{"how":"limit"}`}, {"fail", `{"how":"details"}`}, {"fail", `{"how":"large"}`}, {"fail", `{"how":"logs"}`}, {"fail", `{"how":"print"}`},
		{"fail", `{"how":"path","text":"x/y?z"}`}, {"fail", `{"how":"path","text":""}`}, {"fail", `{"how":"path","text":".."}`}, {"wait", `{"how":""}`}, {"pay", `{"how":"x"}`}, {"nothing", `{}`}, {"fial", `{}`}, {"fetch", `{"path":"/x"}`}, {"send", `{"path":"/x"}`},
		{"fetch", `{"path":"/a?b"}`}, {"fetch", `{"path":"/a/../b"}`}, {"fetch", `{"path":"/a b"}`}, {"fetch", `{"path":"@evil.example/"}`}, {"list", `{"by":"cursor"}`}, {"echo", `{"text":"Bonn","password":"long-secret","tags":["red"],"body":{"n":1.50,"z":0},"inner":{"name":"x"}}`},
	} {
		got, lines := map[string]told{}, map[string][]string{}
		for name, w := range both {
			made := w.do(c[0], c[1])
			got[name] = languageless(shape(made.end))
			for _, event := range made.events[:len(made.events)-1] {
				if event.GetLog() != nil {
					event.GetLog().Time = nil
				}
				text := event.String()
				if strings.Contains(text, "panicked") {
					text = "a stack"
				}
				lines[name] = append(lines[name], strings.Join(strings.Fields(text), " "))
			}
			if text := fmt.Sprint(made.events); strings.Contains(text, "the-api-key-of-all") {
				t.Errorf("%s: the key stands in %s", name, text)
			}
		}
		if diff := cmp.Diff(got["go"], got["python"]); diff != "" {
			t.Errorf("%v (-go +python):\n%s", c, diff)
		}
		if diff := cmp.Diff(lines["go"], lines["python"]); diff != "" {
			t.Errorf("lines of %v (-go +python):\n%s", c, diff)
		}
	}
}

// languageless is an end without what a language calls its exceptions.
func languageless(end told) told {
	if before, _, found := strings.Cut(end.Message, "panicked: "); found {
		end.Message = before + "panicked"
	}
	return end
}

// TestIssue15_5_BothSDKsKeepStateAndTokensAlike: compare-and-set, the scopes, leases that
// always end, the token before where the host gives it.
func TestIssue15_5_BothSDKsKeepStateAndTokensAlike(t *testing.T) {
	t.Parallel()
	both := twins(t)
	connectBoth(t, both, "http://127.0.0.1:1")
	for _, step := range []struct {
		action, input string
		still         bool
	}{
		{"remember", `{}`, false}, {"remember", `{}`, false},
		{"grant", `{"how":"","text":"gone"}`, false}, {"grant", `{"how":"","text":"bug"}`, false}, {"grant", `{"how":""}`, false}, {"grant", `{"how":""}`, false},
		{"grant", `{"how":"4e0a4e2f","text":"gone"}`, false}, {"grant", `{"how":"REJECT","text":"bug"}`, true}, {"grant", `{"how":"REJECT"}`, false},
	} {
		got, commits := map[string]told{}, map[string][]*pluginv1.CommitTokenRequest{}
		for name, w := range both {
			w.host.still = step.still
			made := w.do(step.action, strings.ReplaceAll(step.input, "REJECT", w.host.token.GetId()))
			got[name], commits[name] = languageless(shape(made.end)), w.host.commits
			for _, commit := range commits[name] {
				if before, _, found := strings.Cut(commit.GetError().GetMessage(), "panicked: "); found {
					commit.Error.Message = before + "panicked"
				}
			}
			w.host.commits = nil
			if strings.Contains(fmt.Sprint(made.events), "fresh-token-123") {
				t.Errorf("%s: the token stands in %v", name, made.events)
			}
		}
		if diff := cmp.Diff(got["go"], got["python"]); diff != "" {
			t.Errorf("%v (-go +python):\n%s", step, diff)
		}
		if diff := cmp.Diff(commits["go"], commits["python"], protocmp.Transform()); diff != "" {
			t.Errorf("commits of %v (-go +python):\n%s", step, diff)
		}
	}
	if diff := cmp.Diff(both["go"].host.keys, both["python"].host.keys); diff != "" || !strings.Contains(both["python"].host.keys[0], "run-1 call-1") {
		t.Errorf("the calls of the host are of (-go +python):\n%s", diff)
	}
	if got := both["python"].host.state["connection/main n"]; string(got.GetValue()) != "2" {
		t.Errorf("the state is %v", got)
	}
}

// TestIssue15_5_BothSDKsReadPagesAlike, by all ways, from every cursor.
func TestIssue15_5_BothSDKsReadPagesAlike(t *testing.T) {
	t.Parallel()
	both := twins(t)
	const json = "Content-Type: application/json"
	server := serveRaw(t, map[string]string{
		"/cursor": answer("200 OK", json, `{"things":[{"id":1},{"id":2.50}],"next":"c2","more":5}`), "/number": answer("200 OK", json, `[{"id":1},{"id":2}]`),
		"/index": answer("200 OK", json, `{"rows":[1,2],"start":0,"total":5}`), "/link": answer("200 OK", json, `Link: </other>; rel="prev", </link2?at=2>; title="a, b"; rel="last next"`, `{"rows":[]}`),
		"/link2": answer("200 OK", json, `Link: <https://evil.example/x>; rel=next`, `{"rows":[1]}`),
	})
	connectBoth(t, both, server.url())
	empty := map[string]string{
		"/cursor": answer("400 Bad Request", json, `{"message":"no such cursor"}`), "/number": answer("200 OK", json, `[]`), "/index": answer("200 OK", json, `{"rows":[1],"other":[2],"start":4}`), "/link": answer("200 OK", json, `5`),
	}
	first := server.answers
	for _, c := range []struct {
		by, cursor, note string
		all              bool
		answers          map[string]string
	}{
		{"cursor", "", "", false, first}, {"cursor", "c2", `{"list":"things"}`, true, first}, {"cursor", "c2", `{"list":"items"}`, false, first}, {"cursor", "c9", "", false, empty}, {"cursor", "", "", false, empty},
		{"number", "", "", false, first}, {"number", "2", "", true, first}, {"number", "0", "", false, first}, {"number", "x", "", false, first}, {"number", "3", "", false, empty},
		{"index", "", "", false, first}, {"index", "0", "", false, first}, {"index", "2", "", false, first}, {"index", "4", "", false, empty}, {"index", "4", `{"list":"rows"}`, true, empty},
		{"link", "", "", false, first}, {"link", server.url() + "/link2?at=2", "", false, first}, {"link", "", "", false, empty},
	} {
		server.answers = c.answers
		got := map[string]told{}
		for name, w := range both {
			request := executeOf("list", `{"by":"`+c.by+`"}`)
			request.PageCursor, request.PageNote, request.AllPages = c.cursor, []byte(c.note), c.all
			got[name] = shape(w.execute(request).end)
		}
		if diff := cmp.Diff(got["go"], got["python"]); diff != "" {
			t.Errorf("%v (-go +python):\n%s", c, diff)
		}
	}
}

// TestIssue15_5_BothSDKsReconcileAndCheckAlike: "did it happen?", `connections test`, and
// the checkpoint and the watermark.
func TestIssue15_5_BothSDKsReconcileAndCheckAlike(t *testing.T) {
	t.Parallel()
	both := twins(t)
	server := serveRaw(t, map[string]string{"/me": answer("200 OK", "Content-Type: application/json", `{"name":"ann the-api-key-of-all"}`)})
	got := map[string][]any{}
	for name, w := range both {
		ctx, cancel := w.context(20 * time.Second)
		defer cancel()
		for _, config := range []string{`"api_key":"the-api-key-of-all"`, `"region":"us"`} {
			w.connect(`{"base_url":"` + server.url() + `",` + config + `}`)
			checked, err := w.client.CheckConnection(ctx, &pluginv1.CheckConnectionRequest{Connection: "main"})
			got[name] = append(got[name], checked.GetAccount(), checked.GetNotTried(), checked.GetNote(), err == nil)
		}
		w.connect(`{"base_url":"http://127.0.0.1:1"}`)
		for _, connection := range []string{"main", "other"} {
			checked, err := w.client.CheckConnection(ctx, &pluginv1.CheckConnectionRequest{Connection: connection})
			got[name] = append(got[name], checked.GetError().GetCode().String(), checked.GetError().GetMessage(), err == nil)
		}
		for _, how := range []string{"done", "not", "fault"} {
			answer, err := w.client.Reconcile(ctx, &pluginv1.ReconcileRequest{
				Action: "pay", Connection: "main", Input: &pluginv1.Value{Json: []byte(`{"how":"` + how + `"}`)}, Run: &pluginv1.RunContext{IdempotencyKey: "key-7"},
			})
			note, _, _ := strings.Cut(answer.GetNote(), "panicked")
			got[name] = append(got[name], answer.GetApplied().String(), string(answer.GetOutput().GetJson()), note, err == nil)
		}
		unable, _ := w.client.Reconcile(ctx, &pluginv1.ReconcileRequest{Action: "fetch", Connection: "main"})
		request := executeOf("wait", `{"how":"x"}`)
		request.Checkpoint = []byte("point")
		got[name] = append(got[name], unable.GetNote(), shape(w.execute(request).end))
	}
	if diff := cmp.Diff(got["go"], got["python"]); diff != "" {
		t.Errorf("-go +python:\n%s", diff)
	}
}

// TestIssue15_5_APythonProcessIsAPluginsProcess: the token, health, 64 calls at once that
// none of another holds up, a call that never ends beside them, cancellation within a
// second, and stdout that nobody reads.
func TestIssue15_5_APythonProcessIsAPluginsProcess(t *testing.T) {
	t.Parallel()
	w := startTwinInPython(t)
	if _, err := w.client.Describe(context.Background(), &pluginv1.DescribeRequest{}); status.Code(err) != codes.Unauthenticated {
		t.Errorf("without the launch token: %v", err)
	}
	if stream, err := w.client.Execute(context.Background(), executeOf("fail", `{"how":"x"}`)); err == nil {
		if _, err := stream.Recv(); status.Code(err) != codes.Unauthenticated {
			t.Errorf("execute without the launch token: %v", err)
		}
	}
	ctx, cancel := w.context(30 * time.Second)
	defer cancel()
	health := grpc_health_v1.NewHealthClient(w.conn)
	if answer, err := health.Check(ctx, &grpc_health_v1.HealthCheckRequest{Service: "plugin"}); err != nil || answer.GetStatus() != grpc_health_v1.HealthCheckResponse_SERVING {
		t.Errorf("health: %v, %v", answer, err)
	}
	if _, err := health.Check(ctx, &grpc_health_v1.HealthCheckRequest{Service: "other"}); status.Code(err) != codes.NotFound {
		t.Errorf("health of another: %v", err)
	}
	w.connect(`{"api_key":"the-api-key-of-all"}`)
	hanging, hang := w.context(60 * time.Second)
	if _, err := w.client.Execute(hanging, executeOf("fail", `{"how":"hang"}`)); err != nil {
		t.Fatal(err)
	}
	defer hang()
	var all sync.WaitGroup
	for n := range 64 {
		all.Go(func() {
			text := fmt.Sprintf("x%d", n)
			if end := w.do("fail", `{"how":"`+text+`"}`).end; !strings.Contains(string(end.GetCompleted().GetMeta()), `"`+text+`"`) {
				t.Errorf("call %d ended with %v", n, end)
			}
		})
	}
	all.Wait()
	began := time.Now()
	short, stop := w.context(200 * time.Millisecond)
	defer stop()
	stream, err := w.client.Execute(short, executeOf("fail", `{"how":"sleep"}`))
	if err == nil {
		_, err = stream.Recv()
	}
	if time.Since(began) > 2*time.Second {
		t.Errorf("a call without time ended after %s with %v", time.Since(began), err)
	}
	for range 20 { // more than a pipe that nobody reads would take
		w.do("fail", `{"how":"print"}`)
	}
	if !strings.Contains(w.stderr.String(), "printed") {
		t.Error("what it prints is not on stderr")
	}
}

// TestIssue15_5_StartedByHandItExplainsItself, and refuses a plugin with mistakes.
func TestIssue15_5_StartedByHandItExplainsItself(t *testing.T) {
	t.Parallel()
	said, code := byHand(t, "testdata/twin.py")
	if code != 2 || !strings.Contains(said, "uses: twin.echo") || !strings.Contains(said, "Name its path in flowrun.yaml") {
		t.Errorf("exit %d, %s", code, said)
	}
	said, code = byHand(t, "testdata/mistakes.py")
	for _, mistake := range []string{
		`plugin name "Wrong"`, "has no version", `host "*.example.com"`, "default base URL", `limiter "none"`, "action bad: input: field x", "has no JSON form", `limiter "nowhere" is not declared`, `cursor field "cursor"`,
		`token action "nothing"`, `the login's start "nothing"`, "uses config Second", "is declared twice", "'fial' is not an action", "pattern", "default 'c'",
	} {
		if code != 2 || !strings.Contains(said, mistake) {
			t.Errorf("exit %d, no word of %q in:\n%s", code, mistake, said)
		}
	}
}

package plugins

import (
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/flowrun/flowrun/engine"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/internal/simkit"
	"github.com/flowrun/flowrun/plugins/auth/authsim"
	"github.com/flowrun/flowrun/plugins/tasks/taskssim"
)

// tokenPair is a connection of tasks that takes its token from a login.
func tokenPair(t *testing.T) (login, work *line) {
	t.Helper()
	login = newLine(t, "work_login", "auth", authsim.Options{
		Latency: 100 * time.Millisecond, Rotate: true, Quirks: authsim.Quirks{CodeReuseRevokes: true},
	})
	work = &line{name: "work", plugin: "tasks", config: map[string]any{"token_from": in{"connection": "work_login"}}}
	work.tasks = taskssim.New(taskssim.Options{Latency: 20 * time.Millisecond}) // takes any token
	work.kit = work.tasks.Kit()
	work.serve(t, work.tasks)
	return login, work
}

// fanOut is a workflow of 64 reads at the same time.
func fanOut(t *testing.T) string {
	t.Helper()
	numbers := make([]int, 64)
	for i := range numbers {
		numbers[i] = i
	}
	source, err := json.Marshal(in{"flowrun": "v1", "name": "fan-out", "steps": []any{in{
		"id": "all", "foreach": numbers, "as": "n", "max_parallel": 64, "collect": "${{ n }}",
		"steps": []any{in{"id": "it", "uses": "tasks.stats", "connection": "work"}},
	}}, "outputs": in{"count": "${{ len(steps.all.outputs.items) }}"}})
	if err != nil {
		t.Fatal(err)
	}
	return string(source)
}

// TestOneRefreshFor64StepsWithAnExpiredToken has a service that rotates refresh
// tokens and ends a grant whose old one is used again: two refreshes would be
// seen.
func TestOneRefreshFor64StepsWithAnExpiredToken(t *testing.T) {
	t.Parallel()
	login, work := tokenPair(t)
	login.shortFirst.Store(true)
	b := openBench(t, []*line{login, work}, lineSecrets())
	b.login(t, login)
	time.Sleep(1500 * time.Millisecond) // the stored token ends
	before := login.kit.Count("/token")
	result := b.wait(t, b.start(t, fanOut(t)))
	if result.Run.Status != runs.RunSucceeded || string(result.Outputs["count"]) != "64" {
		t.Fatalf("the run is %s with %s: %s", result.Run.Status, result.Outputs["count"], errorText(result))
	}
	if n := login.kit.Count("/token") - before; n != 1 {
		t.Errorf("%d refreshes, want 1", n)
	}
	requests := work.kit.Requests()
	if len(requests) != 64 || login.auth.Live() != 1 {
		t.Errorf("%d requests, %d grants alive", len(requests), login.auth.Live())
	}
	for _, r := range requests {
		if r.Status != http.StatusOK || r.Header["authorization"] != requests[0].Header["authorization"] || !strings.HasPrefix(r.Header["authorization"], "Bearer at-") {
			t.Errorf("request %d: %d, another token than the first", r.Seq, r.Status)
		}
	}
}

// TestARevokedGrantPausesUntilTheNextLogin lets the person take the grant back at
// the service.
func TestARevokedGrantPausesUntilTheNextLogin(t *testing.T) {
	t.Parallel()
	login, work := tokenPair(t)
	b := openBench(t, []*line{login, work}, lineSecrets())
	b.login(t, login)
	login.auth.RevokeAll()
	if err := work.kit.Add(simkit.Fault{Status: http.StatusUnauthorized, Count: simkit.Forever}); err != nil {
		t.Fatal(err)
	}
	id := b.start(t, step{"tasks.stats", "work", nil, nil}.source(t))
	paused := b.wait(t, id)
	failure := errorOf(paused)
	if paused.Run.Status != runs.RunPaused || paused.Run.Paused != runs.PausedAuthRequired || failure == nil {
		t.Fatalf("the run is %s %s: %s", paused.Run.Status, paused.Run.Paused, errorText(paused))
	}
	if failure.Kind != plan.KindAuthRequired || !strings.Contains(failure.Message+failure.Hint.Text, "work_login") || !strings.Contains(failure.Hint.Text, "login work_login") {
		t.Errorf("the error does not name the login: %s", errorText(paused))
	}
	if text := b.texts(t, paused); strings.Contains(text, "at-") || strings.Contains(text, "rt-") {
		t.Errorf("a token stands in what people read: %s", text)
	}
	work.kit.ClearFaults()
	b.login(t, login)
	if _, err := b.engine.Resume(t.Context(), id, engine.ResumeRequest{By: "test"}); err != nil {
		t.Fatal(err)
	}
	if done := b.wait(t, id); done.Run.Status != runs.RunSucceeded {
		t.Errorf("after the login the run is %s: %s", done.Run.Status, errorText(done))
	}
}

// TestNobodyLoggedInPausesTheRun: a login that never was is named too.
func TestNobodyLoggedInPausesTheRun(t *testing.T) {
	t.Parallel()
	login, work := tokenPair(t)
	b := openBench(t, []*line{login, work}, lineSecrets())
	id := b.start(t, step{"tasks.label_remove", "work", in{"body": in{"name": "client-x"}}, nil}.source(t))
	paused := b.wait(t, id)
	if paused.Run.Paused != runs.PausedAuthRequired || !strings.Contains(errorText(paused), "work_login") {
		t.Fatalf("the run is %s %s: %s", paused.Run.Status, paused.Run.Paused, errorText(paused))
	}
	if n := work.kit.Count("") + login.kit.Count(""); n > 0 {
		t.Errorf("%d requests without a token", n)
	}
	b.login(t, login)
	if _, err := b.engine.Resume(t.Context(), id, engine.ResumeRequest{By: "test"}); err != nil {
		t.Fatal(err)
	}
	if done := b.wait(t, id); done.Run.Status != runs.RunSucceeded || work.kit.Count("") != 1 {
		t.Errorf("after the login the run is %s with %d requests: %s", done.Run.Status, work.kit.Count(""), errorText(done))
	}
}

// TestARefusedTokenIsRenewedOnceForAWrite: a 401 says that nothing was done, so
// even a `once` action is sent again, with a new token.
func TestARefusedTokenIsRenewedOnceForAWrite(t *testing.T) {
	t.Parallel()
	login, work := tokenPair(t)
	b := openBench(t, []*line{login, work}, lineSecrets())
	b.login(t, login)
	if err := work.kit.Add(simkit.Fault{Status: http.StatusUnauthorized}); err != nil {
		t.Fatal(err)
	}
	before := login.kit.Count("/token")
	result := b.wait(t, b.start(t, step{"tasks.label_remove", "work", in{"body": in{"name": "client-x"}}, nil}.source(t)))
	requests := work.kit.Requests()
	if result.Run.Status != runs.RunSucceeded || len(requests) != 2 || login.kit.Count("/token") != before+1 {
		t.Fatalf("the run is %s, %d requests, %d refreshes: %s", result.Run.Status, len(requests), login.kit.Count("/token")-before, errorText(result))
	}
	if requests[0].Header["authorization"] == requests[1].Header["authorization"] {
		t.Error("the same token was sent again")
	}
}

// TestFaultsOfTheTokenRequest has an expired token, so that a read needs a
// renewal first, and puts each fault on that renewal.
func TestFaultsOfTheTokenRequest(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("waits for tokens to end")
	}
	paths := map[string]string{"auth.resource_get": "/resource/me", "auth.deployments_list": "/api/v1/deployments"}
	cells, lines := tokenCells(t, slices.Sorted(maps.Keys(paths)))
	b := openBench(t, lines, lineSecrets())
	var logins sync.WaitGroup
	failures := make([]error, len(cells))
	for i, c := range cells {
		logins.Go(func() { failures[i] = b.tryLogin(c.line) })
	}
	logins.Wait()
	time.Sleep(1500 * time.Millisecond)
	for i, c := range cells {
		if failures[i] != nil {
			t.Fatal(failures[i])
		}
		armed := c.fault.fault
		armed.Path = "/token"
		if c.forever {
			armed.Count = simkit.Forever
		}
		if err := c.line.kit.Add(armed); err != nil {
			t.Fatal(err)
		}
		input := in{"url": c.line.url + "/resource/me"}
		if c.action == "auth.deployments_list" {
			input = in{"credential": "oauth"}
		}
		c.mark = c.line.kit.Count("")
		c.run = b.start(t, step{c.action, c.line.name, input, c.keys()}.source(t))
	}
	for _, c := range cells {
		t.Run(c.fault.name+" "+c.name(), func(t *testing.T) {
			c.end(t, b)
			c.report(t, judge(c))
			reads := len(slices.DeleteFunc(slices.Clone(c.requests), func(r simkit.Request) bool { return r.Path != paths[c.action] }))
			if reads != 1-boolInt(c.forever) {
				t.Errorf("%d reads", reads)
			}
		})
	}
}

// tokenCells are the runs of actions whose token must be renewed first.
func tokenCells(t *testing.T, actions []string) (cells []*cell, lines []*line) {
	for _, f := range faults() {
		for i := range 2 * len(actions) {
			c := &cell{action: actions[i/2], effect: plan.EffectRead, fault: f, forever: i%2 == 1}
			c.expect = succeeded(3, 3) // renewal, renewal, read
			if c.forever {
				c.expect = failed(f.kind, f.status, attempts, attempts)
			}
			c.line = newLine(t, fmt.Sprintf("l%d", len(lines)), "auth", authsim.Options{})
			c.line.shortFirst.Store(true)
			lines, cells = append(lines, c.line), append(cells, c)
		}
	}
	return cells, lines
}

// onceActions are those that may be sent one time only.
func onceActions() []string {
	var names []string
	for _, row := range documented() {
		if row.effect == plan.EffectOnce {
			names = append(names, row.action)
		}
	}
	return names
}

// TestRefusalsEndAWrite: what the service refuses has not happened; the run
// fails, and nothing is sent again.
func TestRefusalsEndAWrite(t *testing.T) {
	t.Parallel()
	var cells []*cell
	var lines []*line
	for status, kind := range map[int]plan.ErrorKind{
		400: plan.KindInvalid, 401: plan.KindUnauthorized, 403: plan.KindForbidden, 404: plan.KindNotFound,
	} {
		for _, action := range onceActions() {
			c := &cell{action: action, effect: plan.EffectOnce, expect: failed(kind, status, 1, 1)}
			c.fault = fault{name: fmt.Sprint(status), fault: simkit.Fault{Status: status}}
			plugin, _, _ := strings.Cut(action, ".")
			c.line = newLine(t, fmt.Sprintf("l%d", len(lines)), plugin, authsim.Options{})
			lines, cells = append(lines, c.line), append(cells, c)
		}
	}
	b := openBench(t, lines, lineSecrets())
	all := described(t, b)
	for _, c := range cells {
		c.begin(t, b, all[c.action])
	}
	for _, c := range cells {
		t.Run(c.fault.name+" "+c.action, func(t *testing.T) {
			c.end(t, b)
			c.report(t, judge(c))
		})
	}
}

// reservePort returns an address that refuses connections and that nobody else gets, and
// what begins to listen at it.
func reservePort(t *testing.T) (address string, listen func() net.Listener) {
	t.Helper()
	syscall.ForkLock.RLock() // no child gets it
	descriptor, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	if err == nil {
		syscall.CloseOnExec(descriptor)
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		t.Fatal(err)
	}
	socket := os.NewFile(uintptr(descriptor), "reserved port")
	t.Cleanup(func() { _ = socket.Close() })
	if err := syscall.Bind(descriptor, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		t.Fatal(err)
	}
	bound, err := syscall.Getsockname(descriptor)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("127.0.0.1:%d", bound.(*syscall.SockaddrInet4).Port), func() net.Listener {
		if err := syscall.Listen(descriptor, 16); err != nil {
			t.Fatal(err)
		}
		listener, err := net.FileListener(socket)
		if err != nil {
			t.Fatal(err)
		}
		return listener
	}
}

// TestAWriteThatNeverLeftIsSentLater has a service that is down when a `once`
// action is called, and comes up while the step waits for its next attempt.
func TestAWriteThatNeverLeftIsSentLater(t *testing.T) {
	t.Parallel()
	address, listen := reservePort(t)
	sim := taskssim.New(taskssim.Options{Token: tasksToken})
	l := &line{name: "tasks", plugin: "tasks", kit: sim.Kit(), config: map[string]any{"base_url": "http://" + address, "token": secretRef("TASKS_TOKEN")}}
	b := openBench(t, []*line{l}, lineSecrets())
	id := b.start(t, step{"tasks.usage_top_up", "tasks", in{"confirm": true}, in{"retry": in{"attempts": 20, "delay": "200ms", "factor": 1}}}.source(t))
	for status := runs.RunQueued; status != runs.RunWaiting; time.Sleep(5 * time.Millisecond) { // for its next attempt
		result, err := b.engine.Get(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		if status = result.Run.Status; status == runs.RunFailed || status == runs.RunSucceeded {
			t.Fatalf("the run is %s: %s", status, errorText(result))
		}
	}
	server := httptest.NewUnstartedServer(sim)
	_ = server.Listener.Close() // its own, which is not used
	server.Listener = listen()
	server.Start()
	defer server.Close()
	result := b.wait(t, id)
	if result.Run.Status != runs.RunSucceeded || sim.Kit().Count("") != 1 || result.Steps["it"].Attempts < 2 {
		t.Errorf("the run is %s after %d attempts with %d requests: %s", result.Run.Status, result.Steps["it"].Attempts, sim.Kit().Count(""), errorText(result))
	}
}

package sandbox_test

import (
	"strings"
	"testing"
	"time"
)

// create is a step that makes a thing at the real service.
const create = `    uses: things.create
    connection: mine
    with: {name: a}
`

// workflow is one that has the lines as its steps.
func workflow(name, body string) string { return "flowrun: v1\nname: " + name + "\n" + body }

// way is one way to a connection that nothing stands for.
type way struct {
	name  string
	files map[string]string
	act   func(w *world)
	// quiet: with the enforcement out nothing is sent either, since another rule
	// keeps it. It is held all the same.
	quiet bool
}

// ways are all that we know of.
func ways() []way {
	started := func(name string) func(*world) {
		return func(w *world) { w.refused("run", "--sandbox", name) }
	}
	return []way{
		{name: "a step", files: map[string]string{"w.yaml": workflow("w", "steps:\n  - id: make\n"+create)}, act: started("w.yaml")},
		{name: "a step without a connection", files: map[string]string{"w.yaml": workflow("w", "steps:\n  - uses: things.create\n    with: {name: a}\n")}, act: started("w.yaml")},
		{name: "a read", files: map[string]string{"w.yaml": workflow("w", "steps:\n  - uses: things.list\n")}, act: started("w.yaml")},
		{name: "a loop in a loop", files: map[string]string{"w.yaml": workflow("w", `steps:
  - id: outer
    foreach: [1, 2]
    as: a
    steps:
      - id: inner
        foreach: [1]
        as: b
        steps:
          - uses: things.create
            connection: mine
            with: {name: x}
`)}, act: started("w.yaml")},
		{name: "a computed connection", files: map[string]string{"w.yaml": workflow("w", `inputs:
  which: {type: string, default: mine}
steps:
  - uses: things.create
    connection: ${{ inputs.which }}
    with: {name: a}
`)}, act: started("w.yaml")},
		{name: "on_success", files: map[string]string{"w.yaml": workflow("w", "steps:\n  - let: {a: 1}\non_success:\n  - id: make\n"+create)}, act: started("w.yaml")},
		{name: "on_failure", files: map[string]string{"w.yaml": workflow("w", "steps:\n  - uses: core.fail\n    with: {message: no}\non_failure:\n  - id: make\n"+create)}, act: started("w.yaml")},
		{name: "finally", files: map[string]string{"w.yaml": workflow("w", "steps:\n  - let: {a: 1}\nfinally:\n  - id: make\n"+create)}, act: started("w.yaml")},
		{name: "a sub-workflow of a sub-workflow", files: map[string]string{
			"w.yaml":       workflow("w", "steps:\n  - uses: ./lib/a.yaml\n"),
			"lib/a.yaml":   workflow("a", "steps:\n  - uses: ./b.yaml\n"),
			"lib/b.yaml":   workflow("b", "steps:\n  - id: make\n"+create),
			"lib/.ignored": "",
		}, act: started("w.yaml")},
		{name: "a step beside a mocked one", files: map[string]string{
			"w.yaml":      workflow("w", "steps:\n  - id: one\n"+create+"  - id: two\n"+create),
			"w.test.yaml": "flowrun_test: v1\nworkflow: w.yaml\ncases:\n  - name: one\n    answers: {one: {outputs: {id: \"1\", name: n}}}\n",
		}, act: func(w *world) { w.refused("run", "--sandbox", "--mocks", "w.test.yaml", "w.yaml") }},
		{name: "an item that no answer is for", files: map[string]string{
			"w.yaml":      workflow("w", "steps:\n  - id: each\n    foreach: [a, b]\n    key: ${{ item }}\n    steps:\n      - id: make\n        uses: things.create\n        connection: mine\n        with: {name: x}\n"),
			"w.test.yaml": "flowrun_test: v1\nworkflow: w.yaml\ncases:\n  - name: one\n    answers: {\"each[a].make\": {outputs: {id: \"1\", name: n}}}\n",
		}, act: func(w *world) { w.refused("run", "--sandbox", "--mocks", "w.test.yaml", "w.yaml") }},
		{name: "call", act: func(w *world) {
			w.refused("call", "things.create", "--sandbox", "--connection", "mine", "--with", `{"name":"a"}`)
		}},
		{name: "call without a connection", act: func(w *world) { w.refused("call", "things.create", "--sandbox", "--with", `{"name":"a"}`) }},
		{name: "connections test", act: func(w *world) { w.refused("connections", "test", "mine", "--sandbox") }},
		{name: "connections login", act: func(w *world) { w.refused("connections", "login", "mine", "--sandbox") }},
		{name: "connections logout", act: func(w *world) { w.refused("connections", "logout", "mine", "--sandbox") }},
		{name: "connections list, doctor and plan", quiet: true, files: map[string]string{"w.yaml": workflow("w", "steps:\n  - id: make\n"+create)}, act: func(w *world) {
			w.exits(0, "connections", "--sandbox")
			w.run("doctor", "--sandbox")
			w.exits(0, "plan", "w.yaml", "--sandbox")
		}},
		{name: "a resumed run", files: map[string]string{
			"w.yaml":      workflow("w", "steps:\n  - id: make\n"+create),
			"w.test.yaml": "flowrun_test: v1\nworkflow: w.yaml\ncases:\n  - name: down\n    answers: {make: {error: {kind: conflict, applied: not_applied}}}\n",
		}, act: func(w *world) {
			w.exits(5, "run", "--sandbox", "--mocks", "w.test.yaml", "w.yaml")
			w.refused("runs", "resume", w.newest(), "--sandbox")
		}},
		{name: "a run resumed with its file of today", files: map[string]string{
			"w.yaml": workflow("w", "steps:\n  - id: no\n    uses: core.fail\n    with: {message: no}\n"),
		}, act: func(w *world) {
			w.exits(5, "run", "--sandbox", "w.yaml")
			w.write("w.yaml", workflow("w", "steps:\n  - id: no\n"+create))
			w.refused("runs", "resume", w.newest(), "--with-latest", "--sandbox")
		}},
		{name: "a rerun", files: map[string]string{
			"w.yaml":      workflow("w", "steps:\n  - id: make\n"+create),
			"w.test.yaml": "flowrun_test: v1\nworkflow: w.yaml\ncases:\n  - name: made\n    answers: {make: {outputs: {id: \"1\", name: n}}}\n",
		}, act: func(w *world) {
			w.exits(0, "run", "--sandbox", "--mocks", "w.test.yaml", "w.yaml")
			w.refused("runs", "rerun", w.newest(), "--sandbox")
		}},
		{name: "the finally of a canceled run", files: map[string]string{
			"w.yaml":      workflow("w", "steps:\n  - id: ask\n    uses: core.approve\n    with: {message: sure}\nfinally:\n  - id: make\n"+create),
			"w.test.yaml": "flowrun_test: v1\nworkflow: w.yaml\ncases:\n  - name: made\n    answers: {\"finally:make\": {outputs: {id: \"1\", name: n}}}\n",
		}, act: func(w *world) {
			w.exits(8, "run", "--no-wait", "--sandbox", "--mocks", "w.test.yaml", "w.yaml")
			w.run("runs", "cancel", w.newest(), "--sandbox")
		}},
		{name: "a server's schedule", files: map[string]string{
			"workflows/w.yaml": workflow("w", "triggers:\n  often: {every: 1s}\nsteps:\n  - id: make\n"+create),
		}, act: serveRefused},
		{name: "a server's poll", files: map[string]string{
			"workflows/w.yaml": workflow("w", "triggers:\n  new:\n    poll:\n      uses: things.list\n      every: 1s\n      items: ${{ result.things }}\n      key: ${{ item.id }}\nsteps:\n  - let: {a: 1}\n"),
		}, act: serveRefused},
		{name: "a server's webhook", files: map[string]string{
			"workflows/w.yaml": workflow("w", "triggers:\n  hook: {webhook: {auth: {token: \"${{ secrets.HOOK }}\"}}}\nsteps:\n  - id: make\n"+create),
		}, act: func(w *world) {
			serveRefusedWhile(w, func(s *server) { s.hook("/hooks/w/hook", "hook-secret-of-the-sandbox") })
		}},
		{name: "what runs after another workflow", files: map[string]string{
			"workflows/first.yaml":  workflow("first", "steps:\n  - let: {a: 1}\n"),
			"workflows/second.yaml": workflow("second", "triggers:\n  then: {after: {workflow: first}}\nsteps:\n  - id: make\n"+create),
		}, act: func(w *world) {
			serveRefusedWhile(w, func(s *server) { s.post("/api/v1/workflows/first/runs?wait=20s", "{}") })
		}},
		{name: "a file that a server finds later", files: map[string]string{
			"workflows/w.yaml": workflow("w", "triggers:\n  often: {every: 1s}\nsteps:\n  - let: {a: 1}\n"),
		}, act: func(w *world) {
			s := w.serve()
			if s == nil {
				w.t.Fatal("a server whose workflows reach nothing does not begin")
			}
			w.write("workflows/w.yaml", workflow("w", "triggers:\n  often: {every: 1s}\nsteps:\n  - id: make\n"+create))
			await(w, func() bool {
				return w.service.bytes.Load() > 0 || strings.Contains(w.exits(0, "schedules", "fires", "w/often", "--sandbox"), "nothing stands for")
			})
		}},
		{name: "the API of a server", files: map[string]string{
			"workflows/w.yaml": workflow("w", "steps:\n  - id: make\n"+create),
		}, act: func(w *world) {
			s := w.serve()
			if s == nil {
				w.t.Fatal("the server does not begin")
			}
			status, answer := s.post("/api/v1/workflows/w/runs?wait=20s", "{}")
			if !w.control && (status != 422 || !strings.Contains(answer, "FR5030")) {
				w.t.Errorf("status %d: %s", status, answer)
			}
			status, answer = s.post("/api/v1/call", `{"action":"things.create","connection":"mine","input":{"name":"a"}}`)
			if !w.control && status < 300 && !strings.Contains(answer, "nothing stands for") {
				w.t.Errorf("status %d: %s", status, answer)
			}
			s.post("/api/v1/connections/mine/test", "")
			s.post("/api/v1/connections/mine/login", "{}")
		}},
		{name: "a run that joins a server", files: map[string]string{"w.yaml": workflow("w", "steps:\n  - id: make\n"+create), "workflows/x.yaml": workflow("x", "steps:\n  - let: {a: 1}\n")}, act: func(w *world) {
			if w.serve() == nil {
				w.t.Fatal("the server does not begin")
			}
			w.refused("run", "--sandbox", "w.yaml")
			w.refused("call", "things.create", "--sandbox", "--with", `{"name":"a"}`)
		}},
		{name: "a run that joins by the state folder alone", files: map[string]string{"w.yaml": workflow("w", "steps:\n  - id: make\n"+create), "workflows/x.yaml": workflow("x", "steps:\n  - let: {a: 1}\n")}, act: func(w *world) {
			if w.serve() == nil {
				w.t.Fatal("the server does not begin")
			}
			w.refused("run", "--state", ".flowrun/state/sandbox", "w.yaml")
		}},
		{name: "schedules trigger and backfill", files: map[string]string{
			"workflows/w.yaml": workflow("w", "triggers:\n  daily: {cron: \"0 9 * * *\"}\nsteps:\n  - id: make\n"+create),
		}, act: func(w *world) {
			w.run("schedules", "trigger", "w/daily", "--sandbox")
			w.run("schedules", "backfill", "w/daily", "--sandbox", "--from", "49h")
		}},
		{name: "a poll by hand", files: map[string]string{
			"workflows/w.yaml": workflow("w", "triggers:\n  new:\n    poll:\n      uses: things.list\n      every: 1h\n      items: ${{ result.things }}\n      key: ${{ item.id }}\nsteps:\n  - let: {a: 1}\n"),
		}, act: func(w *world) { w.run("schedules", "trigger", "w/new", "--sandbox") }},
		{name: "the owner of a token", files: map[string]string{
			"flowrun.yaml": projectFile + "  # the connection below has no address of its own\n",
			"w.yaml":       workflow("w", "steps:\n  - uses: things.create\n    connection: borrower\n    with: {name: a}\n"),
		}, act: func(w *world) {
			w.write("flowrun.yaml", strings.Replace(projectFile, "notify:", `  borrower: {plugin: things, config: {base_url: "http://127.0.0.1:9", token_from: {connection: mine}}}
notify:`, 1))
			w.exits(3, "run", "--sandbox", "--live", "borrower", "w.yaml")
		}},
		{name: "messages", files: map[string]string{
			"w.yaml": workflow("w", "steps:\n  - uses: core.notify\n    with: {to: ops, text: hello}\n  - uses: core.notify\n    with: {to: tool, text: hello}\n"),
		}, act: func(w *world) {
			output := w.exits(0, "run", "--sandbox", "w.yaml")
			for _, part := range []string{"ops is not told: hello", "tool is not told: hello", "shown and not sent: messages to ops, tool"} {
				if !strings.Contains(output, part) && !w.control {
					w.t.Errorf("does not say %q:\n%s", part, output)
				}
			}
		}},
		{name: "notices of failed runs", files: map[string]string{
			"workflows/w.yaml": workflow("w", "steps:\n  - uses: core.fail\n    with: {message: no}\n"),
		}, act: func(w *world) {
			s := w.serve()
			if s == nil {
				w.t.Fatal("the server does not begin")
			}
			s.post("/api/v1/workflows/w/runs?wait=20s", "{}")
			await(w, func() bool {
				return w.service.bytes.Load() > 0 || strings.Contains(s.output.String(), "ops is not told")
			})
		}},
		{name: "a plugin with an address of its own", files: map[string]string{
			"w.yaml": workflow("w", "steps:\n  - uses: fixed.create\n    with: {name: a}\n"),
		}, act: func(w *world) {
			fixed := w.addressed("fixed")
			w.write("flowrun.yaml", "plugins:\n  fixed: {source: "+fixed+"}\n")
			w.exits(3, "run", "--sandbox", "w.yaml")
		}},
		{name: "a plugin that takes the name of a simulated one", files: map[string]string{
			"w.yaml": workflow("w", "steps:\n  - uses: tasks.create\n    with: {name: a}\n"),
		}, act: func(w *world) {
			fixed := w.addressed("tasks")
			w.write("flowrun.yaml", "plugins:\n  tasks: {source: "+fixed+"}\n")
			w.exits(3, "run", "--sandbox", "w.yaml")
		}},
	}
}

func serveRefused(w *world) { serveRefusedWhile(w, func(*server) {}) }

// serveRefusedWhile wants that a server does not begin; where it does, act happens.
func serveRefusedWhile(w *world, act func(*server)) {
	w.t.Helper()
	if s := w.serve(); s != nil {
		if !w.control {
			w.t.Errorf("the server begins:\n%s", s.output)
		}
		act(s)
		await(w, func() bool { return w.service.bytes.Load() > 0 })
		s.end()
	}
}

// await waits for something, for not too long; that it never comes is told by what
// is held afterwards.
func await(w *world, holds func() bool) {
	patience := 20 * time.Second
	if w.inVain {
		patience = 2 * time.Second
	}
	for end := time.Now().Add(patience); !holds() && time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
	}
}

// TestIssue12_01NoWayLeadsOutOfTheSandbox: not a byte reaches the service.
func TestIssue12_01NoWayLeadsOutOfTheSandbox(t *testing.T) {
	t.Parallel()
	binary := flowrunProgram(t)
	for _, way := range ways() {
		t.Run(strings.ReplaceAll(way.name, " ", "_"), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, binary)
			for name, text := range way.files {
				w.write(name, text)
			}
			way.act(w)
			if n := w.service.bytes.Load(); n != 0 {
				t.Errorf("%d bytes reached the service:\n%s", n, w.service.asked())
			}
		})
	}
}

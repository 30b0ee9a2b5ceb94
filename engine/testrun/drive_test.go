package testrun_test

import (
	"testing"

	"github.com/flowrun/flowrun/engine/testrun"
)

func TestRoundsLoopsAndPauses(t *testing.T) {
	result := run(t, `steps:
  - id: poll
    uses: svc.read
    repeat: {until: "result.n > 2", every: 30s, max: 4}
  - id: outer
    needs: []
    foreach: [1, 2]
    as: a
    max_parallel: 1
    steps:
      - id: inner
        foreach: ["x[1]", y]
        as: b
        key: ${{ b }}
        max_parallel: 1
        steps:
          - {id: read, uses: svc.read, with: {n: "${{ a }}"}, on_error: {not_found: continue}}
        collect: ${{ steps.read?.outputs?.n ?? 0 }}
    collect: ${{ steps.inner.outputs.items }}
outputs: {all: "${{ steps.outer.outputs.items }}"}
finally: [{id: told, uses: svc.send, with: {to: x}}]
`, `answers:
  poll: {outputs: {n: 3}}
  outer.inner.read: {outputs: {n: 1}}
  finally:told: {outputs: {n: 0}}
cases:
  - name: rounds and items
    answers:
      poll: [{outputs: {n: 1}}, {outputs: {n: 2}}, {outputs: {n: 3}}]
      outer[1].inner[y].read: {error: not_found}
      outer[0].inner[x%5B1%5D].read: {outputs: {n: 7}}
    expect:
      outputs: {all: [[7, 1], [1, 0]]}
      that:
        - run.duration_s == 60.0 and steps.poll.calls == 3
        - map(filter(calls, .step contains "outer"), .input.n) == [1, 1, 2, 2]
        - steps["finally:told"].calls == 1
  - name: it never comes true
    answers: {poll: {outputs: {n: 0}}}
    expect: {error: {kind: timeout, step: poll}, that: steps.poll.calls == 4}
  - name: a login is needed
    answers: {poll: [{error: auth_required}]}
    expect: {paused: auth_required, steps: {outer: succeeded}}
`)
	expectLines(t, result)
}

func TestARunThatDoesNotEnd(t *testing.T) {
	result := run(t, `timeout: 300d
steps:
  - {id: poll, uses: svc.read, repeat: {until: "result.n > 2", every: 1s}, within: 200d}
`, "answers: {poll: {outputs: {n: 1}}}\ncases: [{name: a}]\n")
	expectLines(t, result, "4:16 stuck the run did not end within 20,000 events")
}

func TestATestSeesOnlyItsOwnCases(t *testing.T) {
	p := newProject()
	p.files["w.yaml"] = "flowrun: v1\nname: w\nsteps: [{id: a, let: {x: 1}}]\n"
	src := []byte("flowrun_test: v1\nworkflow: w.yaml\ncases: [{name: a}, {name: b}]\n")
	result := testrun.Run(t.Context(), p, "w.test.yaml", src, func(name string) bool { return name == "b" })
	if len(result.Cases) != 1 || result.Cases[0].Name != "b" || result.Status != testrun.Passed {
		t.Errorf("%+v", result)
	}
}

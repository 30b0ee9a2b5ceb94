package testrun_test

import (
	"fmt"
	"testing"
)

// TestOutputsAreComparedAsAWhole: what is there and not wanted is a difference, as
// deep as it lies, and so is what is wanted and not there. Outputs that are not
// named are not compared.
func TestOutputsAreComparedAsAWhole(t *testing.T) {
	const workflow = `steps:
  - {id: a, uses: svc.read}
outputs:
  whole: ${{ steps.a.outputs }}
  deep: ${{ [steps.a.outputs] }}
  other: ${{ steps.a.outputs.n }}
`
	result := run(t, workflow, `answers: {a: {outputs: {n: 5, note: x}}}
cases:
  - name: the same
    expect: {outputs: {whole: {note: x, n: 5.0}, deep: [{n: 5, note: x}]}}
  - name: more than is wanted
    expect: {outputs: {whole: {n: 5}, deep: [{n: 5}]}}
  - name: nothing is wanted
    expect: {outputs: {whole: {}, deep: []}}
  - name: less than is wanted
    expect: {outputs: {whole: {n: 5, note: x, at: y}, deep: [{n: 5, note: x}, 1]}}
`)
	expectLines(t, result,
		`8:31 expectation outputs.whole is not what is wanted`, `  at .note: not wanted, got "x"`,
		`8:45 expectation outputs.deep is not what is wanted`, `  at [0].note: not wanted, got "x"`,
		`10:31 expectation outputs.whole is not what is wanted`, `  at .n: not wanted, got 5`, `  at .note: not wanted, got "x"`,
		`10:41 expectation outputs.deep is not what is wanted`, `  at [0]: not wanted, got {"n":5,"note":"x"}`,
		`12:31 expectation outputs.whole is not what is wanted`, `  at .at: want "y", got nothing`,
		`12:61 expectation outputs.deep is not what is wanted`, `  at [1]: want 1, got nothing`,
	)
}

// TestAStepHasOneStatus: of the statuses that a test may name only the one that the
// step has passes.
func TestAStepHasOneStatus(t *testing.T) {
	const workflow = `steps:
  - {id: done, uses: core.log, with: {text: x}}
  - {id: left, if: "1 > 2", uses: core.log, with: {text: x}}
  - {id: bad, uses: svc.read, on_error: continue}
`
	statuses := map[string]string{"done": "succeeded", "left": "skipped", "bad": "failed"}
	for step, status := range statuses {
		for _, wanted := range []string{"succeeded", "skipped", "failed", "blocked", "canceled", "unknown"} {
			var want []string
			result := run(t, workflow, fmt.Sprintf("answers: {bad: {error: not_found}}\ncases:\n  - name: one\n    expect: {steps: {%s: %s}}\n", step, wanted))
			if wanted != status {
				at := len("    expect: {steps: {"+step+": ") + 1
				want = []string{fmt.Sprintf("6:%d expectation step %s is %s, not %s", at, step, status, wanted), "  want " + wanted, "  got  " + status}
				if step == "bad" {
					want = append(want, "  error not_found: mocked by the test")
				}
			}
			expectLines(t, result, want...)
		}
	}
}

// TestAStepThatDidNotBeginHasNoStatus: an item that the list does not have, whatever
// status is wanted of it.
func TestAStepThatDidNotBeginHasNoStatus(t *testing.T) {
	const workflow = `steps:
  - id: each
    foreach: [a, b]
    as: x
    key: ${{ x }}
    steps:
      - {id: say, uses: core.log, with: {text: "${{ x }}"}}
`
	for _, wanted := range []string{"succeeded", "skipped", "blocked", "failed"} {
		result := run(t, workflow, "cases:\n  - name: one\n    expect: {steps: {\"each[b].say\": succeeded, \"each[c].say\": "+wanted+"}}\n")
		expectLines(t, result, `5:63 expectation step each[c].say did not begin`)
	}
}

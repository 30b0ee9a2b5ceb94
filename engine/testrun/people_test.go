package testrun_test

import "testing"

func TestStateIsGivenAndRead(t *testing.T) {
	result := run(t, `state: {last: {type: integer, default: 0}, seen: {type: string, nullable: true}}
steps:
  - {id: a, uses: svc.read}
  - id: keep
    set_state: {last: "${{ steps.a.outputs.n + state.last }}"}
`, `state: {last: 40}
answers: {a: {outputs: {n: 2}}}
cases:
  - name: it is kept
    expect: {that: state.last == 42 and state.seen == nil}
  - name: its own
    state: {last: 1, seen: x}
    expect: {that: state.last == 3 and state.seen == "x"}
  - name: a failure writes nothing
    answers: {a: {error: forbidden}}
    expect: {error: forbidden, that: state.last == 40}
`)
	expectLines(t, result)
	result = run(t, "state: {last: {type: integer, default: 0}}\nsteps: [{let: {a: 1}}]\n", "cases: [{name: a, state: {last: x, lost: 1}}]\n")
	expectLines(t, result,
		`3:33 FR6012 expects an integer, got "x"; write digits only, such as 42`,
		"3:36 FR6003 the workflow has no state `lost`; did you mean `last`?",
	)
}

const asking = `timeout: 72h
steps:
  - id: ask
    uses: core.approve
    with: {message: "Go on?", form: {label: {type: string, default: stale}}}
    timeout: 48h
    on_error: {timeout: continue}
  - id: hook
    uses: core.wait
    needs: [ask]
    with: {signal: paid, match: {order: 7}}
  - {id: tell, uses: core.notify, with: {to: ops, text: "done: ${{ steps.ask?.outputs?.label ?? 'nobody' }}"}}
`

func TestPeopleAndSignals(t *testing.T) {
	result := run(t, asking, `cases:
  - name: approved, then the signal
    events: [{approve: ask, form: {label: old}}, {signal: paid, payload: {order: 6}, after: 1h}, {signal: paid, payload: {order: 7}}]
    expect:
      that:
        - steps.ask.outputs.label == "old"
        - 'calls[0].action == "core.notify" and calls[0].input.text == "done: old"'
  - name: rejected
    events: [{reject: ask, comment: not today}]
    expect: {error: {kind: denied, step: ask, message: not today}}
  - name: nobody came, but an early signal
    events: [{signal: paid, payload: {order: 7}, after: 47h}]
    expect: {steps: {ask: failed, hook: succeeded}, that: 'run.duration_s == 48 * 3600 and calls[0].input.text contains "nobody"'}
  - name: the message does not get through
    events: [{approve: ask}, {signal: paid, payload: {order: 7}}]
    answers: {tell: {error: {kind: forbidden, message: no}}}
    expect: {error: forbidden}
`)
	expectLines(t, result)
	result = run(t, asking, "cases: [{name: a, events: [{approve: ask}]}, {name: b, answers: {ask: {outputs: {}}}}]\n")
	expectLines(t, result, "3:66 FR6009 the step `ask` is run for real: it takes no answer; let a person decide: events: [{approve: ask}]")
	result = run(t, asking, "cases: [{name: a, events: [{approve: ask}]}]\n")
	expectLines(t, result, "3:16 expectation the run is timed_out, not succeeded", "  want succeeded", "  got  timed_out", "  error timeout: the run took longer than its timeout of 72h",
		"  step hook waited in vain")
}

func TestEventsThatHaveNoEffect(t *testing.T) {
	result := run(t, asking, `cases:
  - name: too early and too late
    events: [{approve: ask}, {approve: ask, after: 1h}, {resolve: ask, outcome: skip, after: 2h}, {resume: true, after: 3h}, {signal: paid, payload: {order: 7}, after: 4h}, {resume: true}]
`)
	expectLines(t, result,
		"5:30 unused the event `approve` has no effect: step `ask` does not wait for a decision",
		"5:57 unused the event `resolve` has no effect: the outcome of step `ask` is not unknown",
		"5:99 unused the event `resume` has no effect: the run is waiting",
		"5:174 unused the event `resume` did not happen",
	)
}

func TestATriggerGivesItsInputs(t *testing.T) {
	const workflow = `inputs: {site: {type: string}, n: {type: integer, default: 1}}
triggers:
  daily: {cron: "0 7 * * *", inputs: {site: a.org, n: 2}}
steps: [{id: a, let: {x: "${{ run.trigger }} ${{ inputs.site }} ${{ inputs.n }}"}}]
`
	result := run(t, workflow, `cases:
  - {name: by the clock, trigger: daily, expect: {that: 'steps.a.outputs.x == "daily a.org 2" and run.trigger == "daily"'}}
  - {name: its own, trigger: daily, inputs: {n: 3}, expect: {that: 'steps.a.outputs.x == "daily a.org 3"'}}
  - {name: by hand, inputs: {site: b.org}, expect: {that: 'steps.a.outputs.x == "manual b.org 1"'}}
`)
	expectLines(t, result)
	result = run(t, workflow, "cases: [{name: a, trigger: dayly}]\n")
	expectLines(t, result, "3:28 FR6005 the workflow has no trigger `dayly`; did you mean `daily`?")
}

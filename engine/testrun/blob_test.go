package testrun_test

import (
	"testing"

	"github.com/flowrun/flowrun/engine/testrun"
)

const export = `flowrun: v1
name: w
steps:
  - {id: fetch, uses: svc.download, with: {url: a}}
  - id: rows
    uses: core.read
    paginate: {max_pages: 50}
    with:
      blob: ${{ steps.fetch.outputs.body }}
      as: csv
      max_bytes: 16
      answer: {type: object, required: [id], properties: {id: {type: integer}}}
  - {id: hand, uses: svc.upload, with: {body: "${{ steps.fetch.outputs.body }}"}}
outputs:
  ids: ${{ map(steps.rows.outputs.items, .id) }}
  name: ${{ steps.fetch.outputs.body.name }}
  size: ${{ steps.fetch.outputs.body.size }}
`

// exported runs the cases of a test file on the workflow above.
func exported(t *testing.T, cases string) testrun.FileResult {
	t.Helper()
	p := newProject()
	p.files["flows/w.yaml"] = export
	p.files["flows/data/ids.csv"] = "id,note\n1,a\n2,b\n3,c\n4,d\n5,e\n"
	return testrun.Run(t.Context(), p, "flows/w.test.yaml", []byte("flowrun_test: v1\nworkflow: w.yaml\nanswers: {hand: {outputs: {}}}\n"+cases), nil)
}

// TestIssue16_3_ATestGivesLargeValues: by a text or a file; core.read reads them for real.
func TestIssue16_3_ATestGivesLargeValues(t *testing.T) {
	result := exported(t, `cases:
  - name: text
    answers: {fetch: {outputs: {body: {text: "id,note\n7,a\n8,b\n", media_type: text/csv, name: ids.csv}}}}
    expect:
      outputs: {ids: [7, 8], name: ids.csv, size: 16}
      that: calls[1].action == "core.read" and calls[2].input.body.media_type == "text/csv"
  - name: file
    answers: {fetch: {outputs: {body: {file: data/ids.csv}}}}
    expect:
      outputs: {ids: [1, 2, 3, 4, 5], name: ids.csv, size: 28}
      that: count(calls, .step == "rows") > 1
  - name: its own answer
    answers:
      fetch: {outputs: {body: {text: ""}}}
      rows: {pages: [[{id: 1}], [{id: 2}]]}
    expect: {outputs: {ids: [1, 2], name: "", size: 0}}
  - name: not what it should be
    answers: {fetch: {outputs: {body: {text: "id\nx\n"}}}}
    expect: {error: {kind: unexpected_response, step: rows, message: "line 2, column"}}
  - name: larger than what is read at a time
    answers: {fetch: {outputs: {body: {text: "id\n1\n100000000000000000000000000000\n"}}}}
    expect: {error: {kind: invalid, reason: limit}}
`)
	expectLines(t, result)
	if result.Status != testrun.Passed || len(result.Cases) != 5 {
		t.Errorf("%+v", result)
	}
}

func TestIssue16_3_WhatStandsForALargeValueIsChecked(t *testing.T) {
	result := exported(t, `cases:
  - name: nothing
    answers: {fetch: {outputs: {body: {name: x}}}}
  - name: both
    answers: {fetch: {outputs: {body: {text: a, file: b}}}}
  - name: outside
    answers: {fetch: {outputs: {body: {file: ../../secret}}}}
  - name: not there
    answers: {fetch: {outputs: {body: {file: data/none.csv}}}}
  - name: a text
    answers: {fetch: {outputs: {body: hello}}}
  - name: another key
    answers: {fetch: {outputs: {body: {txt: a}}}}
`)
	expectLines(t, result,
		"6:40 FR6011 a large value is given by `text` or by `file`; such as {text: \"id,name\\n1,a\\n\", media_type: text/csv}",
		"8:40 FR6011 a large value is given by `text` or by `file`; such as {text: \"id,name\\n1,a\\n\", media_type: text/csv}",
		"10:46 FR6011 the file of a large value lies in the folder of the test or below; such as export.csv",
		"12:46 FR6011 the file `data/none.csv` can't be read: there is no such file; the path is read as seen from the test file's folder",
		"14:39 FR6011 expects a large value, got \"hello\"",
		"16:40 FR6003 a large value has no key `txt`; did you mean `text`?",
	)
}

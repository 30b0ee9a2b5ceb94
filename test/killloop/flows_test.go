package killloop

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// flow is a workflow of the suites. Each takes the input `tag`, which begins the
// names of its effects, so that they are counted apart.
type flow struct {
	name   string
	source string
	// effects are what a run of it does, by effect and by name behind the tag; nil
	// = it is not known before.
	effects []string
}

// loopFlows are those of the kill loop.
func loopFlows() []flow {
	return []flow{
		{name: "mixed", source: mixedFlow, effects: []string{"keyed pay", "idempotent set", "once invite", "once mail", "keyed again!"}},
		{name: "fan", source: fanFlow, effects: append(numbered("keyed pay", 6), append(numbered("idempotent set", 6), "once last")...)},
		{name: "pages", source: pagesFlow, effects: append(numbered("once invite", fixedItems), "keyed done")},
		{name: "feed", source: feedFlow},
		{name: "people", source: peopleFlow, effects: []string{"keyed before", "once after"}},
		{name: "parent", source: parentFlow, effects: []string{"keyed leaf", "once leaf", "keyed parent"}},
	}
}

func numbered(name string, n int) (names []string) {
	for i := 1; i <= n; i++ {
		names = append(names, fmt.Sprintf("%s%d", name, i))
	}
	return names
}

const mixedFlow = `flowrun: v1
name: mixed
inputs: {tag: {type: string}}
steps:
  - id: read
    uses: counter.read
    with: {name: "${{ inputs.tag }}/read"}
  - id: pay
    uses: counter.pay
    with: {name: "${{ inputs.tag }}/pay"}
  - id: set
    uses: counter.set
    with: {name: "${{ inputs.tag }}/set"}
  - id: nap
    uses: core.sleep
    with: {for: 3ms}
  - id: invite
    uses: counter.invite
    with: {name: "${{ inputs.tag }}/invite"}
  - id: mail
    uses: counter.mail
    with: {name: "${{ inputs.tag }}/mail"}
  - id: again
    uses: counter.pay
    with: {name: "${{ inputs.tag }}/again!"}
    retry: {attempts: 4, delay: 5ms}
outputs: {sum: "${{ steps.read.outputs.value + steps.pay.outputs.value + steps.set.outputs.value + steps.again.outputs.value }}"}
`

const fanFlow = `flowrun: v1
name: fan
inputs: {tag: {type: string}}
steps:
  - id: each
    foreach: ${{ 1..6 }}
    as: n
    max_parallel: 3
    steps:
      - id: read
        uses: counter.read
        with: {name: "${{ inputs.tag }}/read${{ n }}"}
      - id: pay
        uses: counter.pay
        with: {name: "${{ inputs.tag }}/pay${{ n }}"}
      - id: set
        needs: [read]
        uses: counter.set
        with: {name: "${{ inputs.tag }}/set${{ n }}"}
    collect: {paid: "${{ steps.pay.outputs.value }}"}
  - id: last
    uses: counter.invite
    with: {name: "${{ inputs.tag }}/last"}
outputs: {items: "${{ steps.each.outputs.items }}"}
`

const pagesFlow = `flowrun: v1
name: pages
inputs: {tag: {type: string}}
steps:
  - id: list
    uses: counter.list
    with: {feed: fixed, size: 2}
    paginate: {max_pages: 50}
  - id: each
    foreach: ${{ steps.list.outputs.items }}
    as: row
    key: ${{ string(row.id) }}
    max_parallel: 2
    steps:
      - id: invite
        uses: counter.invite
        with: {name: "${{ inputs.tag }}/invite${{ row.id }}"}
    collect: {value: "${{ steps.invite.outputs.value }}"}
  - id: done
    uses: counter.pay
    with: {name: "${{ inputs.tag }}/done"}
outputs: {items: "${{ steps.each.outputs.items }}", pages: "${{ steps.list.outputs.pages }}"}
`

// feedFlow reads what is new and pays once for each item: its watermark and its
// state move with its success. Its runs wait for one another.
const feedFlow = `flowrun: v1
name: feed
inputs: {tag: {type: string}}
state: {total: {type: integer, default: 0}}
steps:
  - id: list
    uses: counter.list
    with: {feed: news, size: 2}
    paginate: {max_pages: 5000, max_items: 10000}
    incremental: {cursor: news}
  - id: each
    foreach: ${{ steps.list.outputs.items }}
    as: row
    key: ${{ string(row.id) }}
    max_parallel: 2
    steps:
      - id: pay
        uses: counter.pay
        with: {name: "feed/item${{ row.id }}"}
  - set_state: {total: "${{ state.total + len(steps.list.outputs.items) }}"}
outputs: {total: "${{ state.total + len(steps.list.outputs.items) }}"}
`

const peopleFlow = `flowrun: v1
name: people
inputs: {tag: {type: string}}
steps:
  - id: before
    uses: counter.pay
    with: {name: "${{ inputs.tag }}/before"}
  - id: signal
    uses: core.wait
    with: {signal: go, schema: {type: object, properties: {n: {type: integer}}, required: [n]}}
  - id: approve
    uses: core.approve
    with: {message: "Go on?"}
  - id: after
    uses: counter.invite
    with: {name: "${{ inputs.tag }}/after"}
outputs: {n: "${{ steps.signal.outputs.payload.n }}"}
`

const leafFlow = `flowrun: v1
name: leaf
inputs: {tag: {type: string}}
steps:
  - id: pay
    uses: counter.pay
    with: {name: "${{ inputs.tag }}/leaf"}
  - id: invite
    uses: counter.invite
    with: {name: "${{ inputs.tag }}/leaf"}
outputs: {value: "${{ steps.pay.outputs.value }}"}
`

const parentFlow = `flowrun: v1
name: parent
inputs: {tag: {type: string}}
steps:
  - id: leaf
    uses: ./leaf.yaml
    with: {tag: "${{ inputs.tag }}"}
  - id: parent
    uses: counter.pay
    with: {name: "${{ inputs.tag }}/parent"}
outputs: {value: "${{ steps.leaf.outputs.value }}"}
`

// writeProject makes a project with the flows and a connection to the service.
func writeProject(t *testing.T, dir, url, more string, flows []flow) {
	t.Helper()
	files := map[string]string{
		"flowrun.yaml": fmt.Sprintf("connections:\n  counter: {plugin: counter, config: {base_url: %q}}\n%s", url, more),
		"leaf.yaml":    leafFlow,
	}
	for _, f := range flows {
		files[f.name+".yaml"] = f.source
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

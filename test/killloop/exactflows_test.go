package killloop

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

const smallFlow = `flowrun: v1
name: small
inputs: {tag: {type: string}}
steps:
  - id: pay
    uses: counter.pay
    with: {name: "${{ inputs.tag }}/pay"}
  - id: invite
    uses: counter.invite
    with: {name: "${{ inputs.tag }}/invite"}
outputs: {value: "${{ steps.pay.outputs.value }}"}
`

// twelveFlow is the run of 12 steps: mixed effects, pages, a loop, a cursor,
// state, a retry, a timer, a signal and an approval.
const twelveFlow = `flowrun: v1
name: twelve
inputs: {tag: {type: string}}
state: {seen: {type: integer, default: 0}}
steps:
  - id: range
    let: {first: "${{ inputs.tag }}/read"}
  - id: read
    uses: counter.read
    with: {name: "${{ steps.range.outputs.first }}"}
  - id: pay
    uses: counter.pay
    with: {name: "${{ inputs.tag }}/pay"}
  - id: set
    uses: counter.set
    with: {name: "${{ inputs.tag }}/set"}
  - id: invite
    uses: counter.invite
    with: {name: "${{ inputs.tag }}/invite"}
  - id: list
    uses: counter.list
    with: {feed: fixed, size: 3}
    paginate: {max_pages: 50}
    incremental: {cursor: list}
  - id: each
    foreach: ${{ steps.list.outputs.items }}
    as: row
    key: ${{ string(row.id) }}
    max_parallel: 2
    steps:
      - id: look
        uses: counter.read
        with: {name: "${{ inputs.tag }}/look${{ row.id }}"}
      - id: item
        uses: counter.pay
        with: {name: "${{ inputs.tag }}/item${{ row.id }}"}
    collect: {paid: "${{ steps.item.outputs.value }}"}
  - id: nap
    uses: core.sleep
    with: {for: 5ms}
  - id: again
    uses: counter.pay
    with: {name: "${{ inputs.tag }}/again!"}
    retry: {attempts: 4, delay: 5ms}
  - id: go
    uses: core.wait
    with: {signal: go, schema: {type: object, properties: {n: {type: integer}}, required: [n]}}
  - id: approve
    uses: core.approve
    with: {message: "Go on?"}
  - id: last
    uses: counter.mail
    with: {name: "${{ inputs.tag }}/last"}
  - set_state: {seen: "${{ state.seen + len(steps.list.outputs.items) }}"}
outputs:
  items: ${{ steps.each.outputs.items }}
  sum: ${{ steps.read.outputs.value + steps.pay.outputs.value + steps.set.outputs.value + steps.invite.outputs.value + steps.again.outputs.value }}
  n: ${{ steps.go.outputs.payload.n }}
  last: ${{ steps.last.outputs.value }}
`

// generatedFlow makes a workflow of 3 to 10 steps of all kinds.
func generatedFlow(source *rand.Rand, n int) flow {
	g := &generator{random: source}
	name := fmt.Sprintf("made%d", n)
	fmt.Fprintf(&g.text, "flowrun: v1\nname: %s\ninputs: {tag: {type: string}}\n", name)
	if g.oneIn(2) {
		g.text.WriteString("state: {count: {type: integer, default: 0}}\n")
		g.state = true
	}
	g.text.WriteString("steps:\n")
	for step := range 3 + source.IntN(8) {
		g.step(fmt.Sprintf("s%d", step), step)
	}
	if g.state {
		g.text.WriteString("  - set_state: {count: \"${{ state.count + 1 }}\"}\n")
	}
	if g.oneIn(3) {
		g.text.WriteString("finally:\n  - id: bye\n    uses: counter.pay\n    with: {name: \"${{ inputs.tag }}/bye\"}\n")
	}
	if len(g.values) > 0 {
		fmt.Fprintf(&g.text, "outputs: {sum: \"${{ %s }}\"}\n", strings.Join(g.values, " + "))
	}
	return flow{name: name, source: g.text.String()}
}

type generator struct {
	random *rand.Rand
	text   strings.Builder
	values []string // expressions of integers that outputs may add up
	state  bool
}

func (g *generator) oneIn(n int) bool { return g.random.IntN(n) == 0 }

func (g *generator) step(id string, n int) {
	begin := func(more string) {
		fmt.Fprintf(&g.text, "  - id: %s\n", id)
		if n > 0 && g.oneIn(4) {
			g.text.WriteString("    needs: []\n") // beside the others
		}
		g.text.WriteString(more)
	}
	switch g.random.IntN(8) {
	case 0:
		begin("    uses: core.sleep\n    with: {for: 4ms}\n")
	case 1:
		begin("    uses: counter.list\n    with: {feed: fixed, size: 3}\n    paginate: {max_pages: 9}\n")
		g.values = append(g.values, fmt.Sprintf("len(steps.%s.outputs.items)", id))
	case 2:
		begin(fmt.Sprintf("    uses: counter.pay\n    with: {name: \"${{ inputs.tag }}/%s!\"}\n    retry: {attempts: 3, delay: 4ms}\n", id))
		g.values = append(g.values, fmt.Sprintf("steps.%s.outputs.value", id))
	case 3, 4:
		begin(g.loop(id))
		g.values = append(g.values, fmt.Sprintf("len(steps.%s.outputs.items)", id))
	case 5:
		begin("    uses: ./leaf.yaml\n    with: {tag: \"${{ inputs.tag }}/" + id + "\"}\n")
		g.values = append(g.values, fmt.Sprintf("steps.%s.outputs.value", id))
	default:
		begin(fmt.Sprintf("    uses: counter.%s\n    with: {name: \"${{ inputs.tag }}/%s\"}\n", g.action(), id))
		g.values = append(g.values, fmt.Sprintf("steps.%s.outputs.value", id))
	}
}

func (g *generator) action() string {
	return []string{"read", "set", "pay", "invite", "mail"}[g.random.IntN(5)]
}

func (g *generator) loop(id string) string {
	text := fmt.Sprintf("    foreach: ${{ 1..%d }}\n    as: n%s\n    max_parallel: %d\n    steps:\n", 2+g.random.IntN(3), id, 1+g.random.IntN(3))
	for inner := range 1 + g.random.IntN(2) {
		text += fmt.Sprintf("      - id: %si%d\n        uses: counter.%s\n        with: {name: \"${{ inputs.tag }}/%s-%d-${{ n%s }}\"}\n", id, inner, g.action(), id, inner, id)
	}
	return text + fmt.Sprintf("    collect: {value: \"${{ steps.%si0.outputs.value }}\"}\n", id)
}

package check

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/flowrun/flowrun/engine/spec"
)

// benchFile is a workflow as people write them: calls with literal and computed
// inputs, conditions, loops, values.
func benchFile(number, steps int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "flowrun: v1\nname: bench-%d\ninputs:\n  domain: {type: string, minLength: 1}\n  days: {type: integer, default: 3}\ntriggers:\n  nightly: {cron: \"0 2 * * *\", timezone: Europe/Berlin, inputs: {domain: example.com}}\nsteps:\n  - id: s0\n    uses: net.whois\n    with: {domain: \"${{ inputs.domain }}\"}\n", number)
	for i := 1; i < steps; i++ {
		switch i % 5 {
		case 0:
			fmt.Fprintf(&b, "  - id: s%d\n    uses: net.whois\n    with: {domain: \"${{ inputs.domain }}\", days: 3, mode: fast}\n", i)
		case 1:
			fmt.Fprintf(&b, "  - id: s%d\n    if: steps.s%d?.outputs?.found == true and inputs.days > 2\n    uses: net.dns\n    with: {domain: file%d.example.com, type: A}\n", i, i-1, number)
		case 2:
			fmt.Fprintf(&b, "  - id: s%d\n    let:\n      hosts: '${{ map(filter(steps.s%d?.outputs?.records ?? [], .ttl != nil), {{\"host\": .data, \"ttl\": .ttl ?? 0}}) }}'\n      first: ${{ upper(inputs.domain) + \"-\" + string(inputs.days) }}\n", i, i-1)
		case 3:
			fmt.Fprintf(&b, "  - id: s%d\n    foreach: ${{ steps.s%d.outputs.hosts }}\n    as: row\n    key: ${{ row.host }}\n    collect: {host: \"${{ row.host }}\"}\n    steps:\n      - uses: core.log\n        with: {text: \"${{ row.host }} has ${{ row.ttl }}\"}\n", i, i-1)
		case 4:
			fmt.Fprintf(&b, "  - id: s%d\n    let: {n: \"${{ len(steps.s%d.outputs.items) }}\", all: \"${{ groupBy(steps.s%d.outputs.items, .host) }}\"}\n", i, i-1, i-1)
		}
	}
	b.WriteString("outputs: {last: \"${{ run.id }}\"}\n")
	return b.String()
}

func checkBench(tb testing.TB, texts []string) (expressions int) {
	catalog := fake()
	for i, text := range texts {
		tree, problems := spec.Parse(fmt.Sprintf("bench%d.yaml", i), []byte(text))
		c := newChecker(context.Background(), tree, catalog)
		c.run()
		if len(problems)+len(c.problems) > 0 {
			tb.Fatalf("%v %v", problems, c.problems)
		}
		for _, t := range c.texts {
			for _, p := range t.parts {
				if p.isExpr {
					expressions++
				}
			}
		}
	}
	return expressions
}

// BenchmarkValidate100Files is 100 files of 30 steps: under 300 ms on two cores.
func BenchmarkValidate100Files(b *testing.B) {
	texts := make([]string, 100)
	for i := range texts {
		texts[i] = benchFile(i, 30)
	}
	benchmarkValidate(b, texts)
}

// BenchmarkValidate1000Steps is one file of 1,000 steps: under 100 ms.
func BenchmarkValidate1000Steps(b *testing.B) { benchmarkValidate(b, []string{benchFile(0, 1_000)}) }

func benchmarkValidate(b *testing.B, texts []string) {
	expressions := 0
	b.ReportAllocs()
	for b.Loop() {
		expressions = checkBench(b, texts)
	}
	perRun := float64(b.Elapsed().Microseconds()) / float64(b.N)
	b.ReportMetric(perRun/1_000, "ms/op")
	b.ReportMetric(perRun/float64(expressions), "µs/expression")
}

package main

import (
	"fmt"
	"strings"
)

// sequence is a workflow of n steps, each after the one above it.
func sequence(n int, action string) string {
	return steps("sequence", n, func(i int) string { return fmt.Sprintf("{id: s%d, uses: bench.%s, with: {n: %d}}", i, action, i) })
}

// fan is a workflow of n steps that start at once.
func fan(n int, action string) string {
	return steps("fan", n, func(i int) string {
		return fmt.Sprintf("{id: s%d, needs: [], uses: bench.%s, with: {n: %d}}", i, action, i)
	})
}

// conditions is a workflow of n steps whose condition reads the first one.
func conditions(n int) string {
	return steps("conditions", n, func(i int) string {
		if i == 0 {
			return "{id: s0, uses: bench.read, with: {n: 0}}"
		}
		return fmt.Sprintf("{id: s%d, if: \"${{ steps.s0.outputs.n == 0 }}\", uses: bench.read, with: {n: %d}}", i, i)
	})
}

// needing is a workflow of n steps, each of which needs up to so many before it.
func needing(n, needs int) string {
	return steps("needing", n, func(i int) string {
		var names []string
		for before := max(0, i-needs); before < i; before++ {
			names = append(names, fmt.Sprintf("s%d", before))
		}
		return fmt.Sprintf("{id: s%d, needs: [%s], let: {n: %d}}", i, strings.Join(names, ", "), i)
	})
}

func steps(name string, n int, step func(i int) string) string {
	var text strings.Builder
	fmt.Fprintf(&text, "flowrun: v1\nname: %s\nsteps:\n", name)
	for i := range n {
		fmt.Fprintf(&text, "  - %s\n", step(i))
	}
	return text.String()
}

// stepOfLet is the workflow of one step without a plugin.
const stepOfLet = "flowrun: v1\nname: let\nsteps:\n  - {id: one, let: {n: 1}}\noutputs: {n: \"${{ steps.one.outputs.n }}\"}\n"

// stepOfPlugin is the workflow of one step in a bundled plugin.
const stepOfPlugin = "flowrun: v1\nname: plugin\nsteps:\n  - {id: one, uses: files.read, with: {path: hello.txt}}\noutputs: {text: \"${{ steps.one.outputs.text }}\"}\n"

// filesProject is what flowrun.yaml says for stepOfPlugin.
const filesProject = "plugins:\n  files: {grants: {paths: [\"./data:ro\"]}}\nconnections:\n  files: {plugin: files, config: {roots: {data: {path: ./data}}}}\nworkflows: [workflows]\n" + keepAll

// keepAll lets no run be removed.
const keepAll = "retention: {keep: 3650d, max_runs: 1000000, max_total: 1000000}\n"

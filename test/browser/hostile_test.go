package browser

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Texts that pages are not made for. bad is what people and services may write where
// no pattern keeps them from it.
var (
	longWord  = strings.Repeat("Donaudampfschifffahrt", 10)[:200]
	hugeWord  = strings.Repeat("0123456789abcdef", 250) // 4,000 letters without a place to break
	bad       = "\u202Eevil\u202C 👩‍👩‍👧‍👦🇦🇹 \"><script>window.broken=1</script><img src=x onerror=window.broken=1> '\"&amp; " + longWord
	longName  = longWord[:100]                               // the longest that a workflow may have
	longID    = strings.ToLower(longWord[:100])              // of steps
	otherName = "שלום עולם " + strings.Repeat("ש", 80)       // from right to left
	badLabel  = ("\u202E🙈<b>'\"" + strings.Repeat("w", 100)) // its first 100 letters
)

// quoted is a value as JSON, which YAML takes too.
func quoted(value any) string {
	out, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return string(out)
}

// hostile writes a project of such names and texts.
func hostile(t *testing.T, folder string) {
	t.Helper()
	label := string([]rune(badLabel)[:100])
	files := map[string]string{
		"flowrun.yaml": "workflows: [workflows]\nconnections:\n  " + strings.ToLower(longWord[:63]) + ":\n    plugin: netinfo\n  x:\n    plugin: tasks\n    config: {base_url: \"http://127.0.0.1:1/" + longWord + "\", token: \"t\"}\n",
		// Everything long, by hand or by the clock; a failure, a loop, a question.
		"workflows/" + longWord + ".yaml": fmt.Sprintf(`flowrun: v1
name: %[1]s
description: %[2]s
labels: {%[3]s: %[4]s, a: b}
triggers:
  %[3]s:
    every: 10s
inputs:
  %[5]s: {type: string, default: %[6]s, description: %[2]s}
  x: {type: array, items: {type: string}, default: [%[2]s, "", %[6]s]}
  pick: {enum: [%[6]s, b], default: b}
steps:
  - id: %[7]s
    name: %[2]s
    let: {%[5]s: "${{ inputs.%[5]s }}", text: "${{ inputs.x }}"}
  - id: each
    foreach: ${{ inputs.x }}
    as: one
    on_error: collect
    steps:
      - id: %[7]sx
        uses: core.log
        with: {text: "${{ one }}", level: warn}
      - id: check
        uses: core.assert
        with: {that: "${{ len(one) > 0 }}", message: %[6]s}
  - id: fails%[7]s
    needs: [each]
    uses: core.fail
    with: {message: %[6]s, kind: unavailable}
  - id: y
    let: {z: 1}
outputs:
  %[5]s: {format: markdown, value: %[8]s}
  word: %[6]s
`, longName, quoted(bad), longName, quoted(label), strings.ReplaceAll(longName, "-", "_"), quoted(hugeWord), longID[:90],
			quoted("# "+bad+"\n\n|"+strings.Repeat("a|", 12)+"\n|"+strings.Repeat("-|", 12)+"\n|"+strings.Repeat(longWord+"|", 12)+"\n\n> > - "+longWord+"\n\n```\n"+hugeWord+"\n```\n[](https://x.example/"+longWord+")")),
		// One letter each; asks.
		"workflows/a.yaml":                       fmt.Sprintf("flowrun: v1\nname: a\nsteps:\n  - id: b\n    uses: core.approve\n    with:\n      message: %s\n      form:\n        c: {type: string, description: %s}\n        %s: {type: string, default: %s}\n  - id: d\n    uses: core.wait\n    with: {signal: go}\n", quoted("**"+bad+"** "+hugeWord), quoted(bad), longName, quoted(hugeWord)),
		"workflows/r.yaml":                       fmt.Sprintf("flowrun: v1\nname: %s\ndescription: %s\ntriggers:\n  t: {cron: \"0 3 * * *\", timezone: America/Argentina/ComodRivadavia}\nsteps:\n  - id: s\n    let: {x: 1}\n", otherName, quoted(bad)),
		"workflows/" + longWord[:150] + "b.yaml": "flowrun: v1\nname: " + longName[:99] + "b\nsteps:\n  - id: a\n    uses: core.log\n    with: {" + longWord + ": hi, text: \"" + hugeWord + "\"}\n",
	}
	for name, content := range files {
		path := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

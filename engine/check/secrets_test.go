package check

import (
	"strings"
	"testing"

	"github.com/flowrun/flowrun/engine/plan"
)

// TestRule4SecretsInsideValues follows secrets through lists, objects and
// functions: what holds one can't leave, wherever the types of its parts differ.
func TestRule4SecretsInsideValues(t *testing.T) {
	catalog := fake()
	catalog.add("vault.read", plan.EffectRead,
		`{"type":"object","properties":{"headers":{"type":"object","writeOnly":true,"additionalProperties":{"type":"string"}},"body":{}}}`,
		`{"type":"object","required":["token","info"],"properties":{"token":{"type":"string","writeOnly":true},
			"info":{"type":"object","required":["key","n"],"properties":{"key":{"type":"string","writeOnly":true},"n":{"type":"integer"}}}}}`)
	const info = "steps.v.outputs.info"
	for source, code := range map[string]string{
		"steps.v.outputs.token": CodeSecretText, info: CodeSecretText, "steps.v": CodeSecretText, "{'a': steps.v.outputs.token}": "FR3012", "true ? steps.v.outputs.token : 'a'": "FR3012",
		"[1, INFO]": CodeSecretText, "{'a': [1, INFO]}": CodeSecretText, "[1, [2, INFO]]": CodeSecretText, "true ? 1 : INFO": CodeSecretText, "flatten([[INFO], [1]])": CodeSecretText, "cross([INFO], [1])": CodeSecretText,
		"get(steps.v.outputs, inputs.s)": "FR3012", "INFO[inputs.s]": CodeSecretText, "INFO == INFO": "FR3012", "INFO in [INFO]": "FR3012", "uniqueBy([INFO], 'key')": "FR3012", "toJSON(INFO)": "FR3012", "values(INFO)": CodeSecretText,
		"fromPairs([['a', INFO]])": CodeSecretText, "reduce([INFO], concat(#acc, [#]), [])": CodeSecretText, "groupBy([INFO], .n)": CodeSecretText,
		"INFO.n + 1": "", "INFO != nil": "", "map([INFO], .n)": "", "cross([INFO], [1])[0][1]": "", "len([INFO])": "",
	} {
		text := "flowrun: v1\ninputs: {s: {type: string}}\nsteps:\n  - id: v\n    uses: vault.read\n  - let: {x: \"${{ " + strings.ReplaceAll(source, "INFO", info) + " }}\"}\n"
		_, problems := checkText(catalog, "x.yaml", text)
		if code == "" && len(problems) > 0 || code != "" && (len(problems) != 1 || problems[0].Code != code) {
			t.Errorf("%s: %v, want one %s", source, problems, code)
		}
	}
}

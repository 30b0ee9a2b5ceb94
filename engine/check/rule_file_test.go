package check

import (
	"strings"
	"testing"
)

// An input that may stand in a file is what the file holds, and is checked as if it were
// written out.
func TestInputsThatStandInAFile(t *testing.T) {
	const head = "flowrun: v1\nname: t\nsteps:\n  - uses: mail.send\n    with: {to: a, password: \"${{ secrets.TOKEN }}\", body: "
	for name, want := range map[string]string{
		"./body.yaml": "", "./body.json": "", "{text: hello}": "", `"${{ {\"text\": \"hello\"} }}"`: "",
		"./nope.yaml": "can't be read: there is no such file", "./list.yaml": "does not hold what belongs here", "./other.json": "does not hold what belongs here",
		"./broken.yaml": "is not what stands here", "./empty.yaml": "is not what stands here", `"${{ \"./body.yaml\" }}"`: "expects an object, got text", `"./${{ run.id }}.yaml"`: "expects an object, got text",
		"{txt: hello}": "`text`",
	} {
		workflow, problems := checkText(fake(), "t.yaml", head+name+"}\n")
		if want != "" {
			if len(problems) == 0 || !strings.Contains(problems.Error(), want) || problems[0].Line != 5 {
				t.Errorf("%s: %v, want %q", name, problems, want)
			}
			continue
		}
		if len(problems) > 0 {
			t.Errorf("%s: %v", name, problems)
			continue
		}
		encoded, err := workflow.Encode()
		if err != nil || strings.HasPrefix(name, "./") && !strings.Contains(string(encoded), `{"kind":"literal","literal":{"text":"hello","n":3}}`) {
			t.Errorf("%s: the plan has %s, %v", name, encoded, err)
		}
	}
}

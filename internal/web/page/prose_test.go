package page

import (
	"html"
	"net/http"
	"strings"
	"testing"

	"github.com/flowrun/flowrun/engine/workspace"
)

const proseFlow = `flowrun: v1
name: prose
description: |
  Makes a **digest**, see [the manual](https://x.example/manual).

  - first
  - second
inputs:
  site: {type: string, default: a, description: "The *site*, as in ` + "`tasks`" + `."}
  plain: {type: string, default: "", description: "2 * 3 * 4, a_b_c."}
steps:
  - id: ask
    uses: core.approve
    with:
      message: |
        # Send it?

        | who | what |
        |-----|------|
        | all | <b>this</b> |

        [no](javascript:alert(1)) [redacted] **yes**
outputs:
  digest:
    format: markdown
    value: |
      # Digest

      1. [one](https://x.example/1)
      2. ![two](https://x.example/2.png)
  text: |
    # not said to be Markdown
    - at all
  short: {format: markdown, value: "**bold**"}
  none: {format: markdown, value: "plain text"}
`

// TestIssue12_26_MarkdownOnPages: descriptions, messages and outputs with a format of
// Markdown are rendered, below the headings of their place; the text is one click away.
func TestIssue12_26_MarkdownOnPages(t *testing.T) {
	d := newDesk(t, map[string]string{"p.yaml": proseFlow})
	page := d.get("/workflows/prose", http.StatusOK)
	has(t, page, `<div class="lead md"><p>Makes a <strong>digest</strong>, see <a href="https://x.example/manual" rel="noopener noreferrer nofollow">the manual</a>.</p>`, "<li>first</li>",
		"The <em>site</em>, as in <code>tasks</code>.", "Makes a **digest**") // the last is the source
	has(t, page, "2 * 3 * 4, a_b_c.")

	id := d.start("prose", nil)
	for path, level := range map[string]string{runURL(id): "h3", stepURL(id, "ask"): "h3", "/approvals": "h3"} {
		page := d.get(path, http.StatusOK)
		has(t, page, " md\"><"+level+">Send it?</"+level+">", `aria-label="Table"><table>`, "<td>&lt;b&gt;this&lt;/b&gt;</td>", "<p>no [redacted] <strong>yes</strong></p>", "as text</summary><pre># Send it?")
		lacks(t, page, `href="javascript`)
	}
	has(t, d.get(stepURL(id, "ask")+"/message", http.StatusOK), "# Send it?\n\n| who")
	d.post(stepURL(id, "ask")+"/approve", nil, http.StatusSeeOther)
	d.settle(id)
	for _, path := range []string{runURL(id), runURL(id) + "/data"} {
		page := d.get(path, http.StatusOK)
		has(t, page, `<div class="md in"><h4>Digest</h4>`, `<li><a href="https://x.example/1"`, `<li><a href="https://x.example/2.png"`, "as text</summary><pre># Digest")
		has(t, page, "<strong>bold</strong>")
		has(t, html.UnescapeString(page), "# not said to be Markdown\n- at all")
		lacks(t, page, "<img", "<h4>not said")
	}
	if all := d.get(runURL(id)+"/outputs/digest", http.StatusOK); !strings.HasPrefix(all, "# Digest\n\n1. [one]") {
		t.Errorf("the whole value is %q", all)
	}
	d.get(stepURL(id, "none")+"/message", http.StatusNotFound)
}

// TestIssue12_26_ALongMessageIsCutWithAWayToAllOfIt is the rule of values for what a
// step says.
func TestIssue12_26_ALongMessageIsCutWithAWayToAllOfIt(t *testing.T) {
	d := newDesk(t, map[string]string{"m.yaml": "flowrun: v1\nname: m\ninputs:\n  text: {type: string}\nsteps:\n  - id: ask\n    uses: core.approve\n    with: {message: \"${{ inputs.text }}\"}\n"})
	for size, cut := range map[int]bool{3900: false, 5000: true} {
		says := sized(size, true)
		id := d.start("m", map[string]workspace.Input{"text": text(says)})
		for _, path := range []string{runURL(id), stepURL(id, "ask"), "/approvals"} {
			page := d.get(path, http.StatusOK)
			if strings.ContainsRune(page, '\uFFFD') || strings.Contains(mainOf(page), "…</p>") != cut && path != "/approvals" {
				t.Errorf("%s of %d bytes: cut in the middle of a letter, or not as it should", path, size)
			}
			if cut && !leadsTo(t, d, page, says) {
				t.Errorf("%s: no link has the whole message", path)
			}
		}
	}
}

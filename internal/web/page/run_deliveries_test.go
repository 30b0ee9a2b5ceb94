package page

import (
	"net/http"
	"testing"

	"github.com/flowrun/flowrun/engine/deliver"
)

const deliveringFlow = `flowrun: v1
name: delivering
steps:
  - let: {x: 1}
outputs:
  digest:
    value: all is well
    to: [{uses: core.notify, with: {to: "<b>${{ output.name }}", text: "${{ output.text }}"}}]
`

func TestARunShowsItsDeliveries(t *testing.T) {
	d := newDesk(t, map[string]string{"f.yaml": deliveringFlow})
	id := d.start("delivering", nil)
	has(t, d.get(runURL(id), http.StatusOK), ">Deliveries</h2>", "core.notify", ">waiting</span>", "flowrun runs deliver "+id)
	if _, err := d.engine.Deliver(t.Context(), id, deliver.Request{By: "ann"}); err != nil {
		t.Fatal(err)
	}
	page := d.get(runURL(id), http.StatusOK)
	has(t, page, `t-bad ink">failed</span>`, "no notify target has the name &#34;&lt;b&gt;digest&#34;", "flowrun runs deliver "+id)
	lacks(t, page, "<b>digest")
	other := newDesk(t, map[string]string{"f.yaml": failingFlow})
	lacks(t, other.get(runURL(other.start("failing", nil)), http.StatusOK), "Deliveries")
}

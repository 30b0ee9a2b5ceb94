package check

import (
	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/schema"
	"github.com/flowrun/flowrun/engine/spec"
)

// blobType is the word for large values in the schemas of a workflow.
const blobType = "blob"

// blobWords is `type: blob` as JSON Schema has it.
func blobWords() object {
	return object{{"type", jsonText("object")}, {"x-flowrun-blob", []byte("true")}}
}

// writtenBlob reports an object that is written out where a large value belongs.
func (v *valuer) writtenBlob(node *spec.Node) value {
	v.problem(node.Pos, CodeBlob, "an object that is written out is no large value").Hint =
		diag.Say("give what a step gave, such as ${{ steps.fetch.output.body }}")
	return anyValue()
}

// noBlobType reports `type: blob` where a value can't be a large one, and why.
func (r *inputReader) noBlobType(node *spec.Node, what string) {
	r.bad = true
	r.c.errorAt(node.Pos, CodeBlob, "%s can't be a large value", what).Hint = diag.Say(r.noBlobs)
}

// blobInState reports a large value that would be kept between runs.
func (c *checker) blobInState(node *spec.Node, t *schema.Type) {
	if t.HasBlob() {
		c.errorAt(node.Pos, CodeBlob, "state can't hold a large value").Hint =
			diag.Say("a large value belongs to its run: keep its digest (x.digest), or put it where it stays and keep the place")
	}
}

// blobInCache reports a step that would be answered with a large value of another run.
func (c *checker) blobInCache(s *step, output *schema.Type) {
	if s.src.Cache == nil || !output.HasBlob() {
		return
	}
	pair, _ := s.src.Node.Pair("cache")
	c.errorAt(pair.Key.Pos, CodeBlob, "`%s` can't have a cache here: its output holds a large value", s.src.Uses.Text).Hint =
		diag.Say("a large value belongs to its run: leave `cache` out")
}

const noBlobFromPeople = "only a step gives a large value; people and services beyond plugins give text, numbers, lists and objects"

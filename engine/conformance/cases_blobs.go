package conformance

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"

	"github.com/flowrun/flowrun/engine/schema"
)

// blobCases are those of plugins that give large values.
func blobCases() []testCase {
	return []testCase{
		blobCase("blobs.parts", "sends its large values in parts that a host takes",
			"A part has at most 1 MiB, a note 4 KiB, the name of an upload 200 bytes; `offset` is the size that the host says, or the begin of a part before it. Both calls name their call.",
			"send parts of at most 1 MiB, each at the `size` of the answer before, with `flowrun-call-id` of the call", partsWithinBounds),
		blobCase("blobs.reference", "gives the references that it was given",
			"With `last` the upload ends, and `reference` is what to put into the output.",
			"put the `reference` of the last PutBlob into the output as it is", referencesAsGiven),
		blobCase("blobs.resume", "goes on with an upload where the host says",
			"A call that is made again finds its own upload by the same name: it asks first, and goes on at `size`, or at 0 where `note` says that the source is another one by now.",
			"ask with a PutBlob that has nothing but the name before the first part; go on at `size`, or begin anew at 0", uploadGoesOn),
		blobCase("blobs.without", "works with a host that keeps no large values",
			"A plugin works without each of the features: large values are for calls with `ExecuteRequest.blobs`.",
			"look at ExecuteRequest.blobs; without it fail with `unsupported`, `not_applied`, or give the content in another way", worksWithoutBlobs),
	}
}

// blobCase is a case over the calls whose output has a large value.
func blobCase(id, title, contract, change string, run func(context.Context, *kit, *call) error) testCase {
	return testCase{
		id: id, title: title, needs: needsConnection, section: "large-values", contract: contract, change: change,
		run: func(ctx context.Context, k *kit) error {
			if !slices.ContainsFunc(k.actions, func(a *action) bool { return a.output.HasBlob() }) {
				return skip("none of its actions gives a large value")
			}
			gives := func(c *call) bool { return c.action.reads() && c.action.output.HasBlob() }
			calls := k.working(gives)
			for _, c := range k.calls {
				if gives(c) && c.first != nil && !c.first.ok() && id == "blobs.parts" && k.memory.blobs.firstWrong() != "" {
					calls = append(calls, c)
				}
			}
			if len(calls) == 0 {
				return k.noCall("a read that gives a large value", gives)
			}
			return run(ctx, k, calls[0])
		},
	}
}

func partsWithinBounds(_ context.Context, k *kit, c *call) error {
	if wrong := k.memory.blobs.firstWrong(); wrong != "" {
		return fault(c.String(), "%s", wrong)
	}
	return nil
}

// blobsIn are the digests and sizes of the references in an output.
func blobsIn(doc []byte, t *schema.Type) map[string]int64 {
	found := map[string]int64{}
	var walk func(v any, t *schema.Type)
	walk = func(v any, t *schema.Type) {
		switch v := v.(type) {
		case map[string]any:
			if t != nil && t.Blob {
				digest, _ := v["digest"].(string)
				size, _ := v["size"].(float64)
				found[digest] = int64(size)
				return
			}
			for name, inner := range v {
				if t == nil {
					return
				}
				field, _ := t.Field(name)
				walk(inner, field)
			}
		case []any:
			for _, inner := range v {
				if t != nil && t.Kind == schema.List {
					walk(inner, t.Element())
				}
			}
		}
	}
	var v any
	if json.Unmarshal(doc, &v) == nil {
		walk(v, t)
	}
	return found
}

func referencesAsGiven(_ context.Context, k *kit, c *call) error {
	output := c.first.completed.GetOutput().GetJson()
	for digest, size := range blobsIn(output, c.action.output) {
		if stored, ok := k.memory.blobs.known(digest); !ok || int64(stored) != size {
			return fault(c.String(), "the output %s refers to %q with %d bytes, which the host did not give", brief(output), digest, size)
		}
	}
	return nil
}

// uploadGoesOn leaves half of an upload, as a call that was killed does, for a process that
// knows nothing of it.
func uploadGoesOn(ctx context.Context, k *kit, c *call) error {
	p, err := k.fresh(ctx)
	if err != nil {
		return err
	}
	first := k.key()
	if got := k.execute(ctx, p, k.request(c, first)); !got.ok() {
		return skip("the call did not complete a second time: " + k.clean(got.String()))
	}
	if p, err = k.fresh(ctx); err != nil {
		return err
	}
	again := k.key()
	sent, halves := k.memory.blobs.uploadsOf(first), 0
	for name, u := range sent {
		if half := len(u.content) / 2; half > 0 {
			halves++
			k.memory.blobs.stage(again, name, u.content[:half], u.note)
		}
	}
	if halves == 0 {
		return skip("its large value is too small to be sent by halves")
	}
	what := c.String() + ", of whose large value the first half was sent by a process that was killed"
	before := k.memory.blobs.firstWrong()
	got := k.execute(ctx, p, k.request(c, again))
	if wrong := k.memory.blobs.firstWrong(); wrong != before {
		return fault(what, "%s", wrong)
	}
	if !got.ok() {
		return fault(what, "%s", got)
	}
	ended := k.memory.blobs.uploadsOf(again)
	for name, u := range sent {
		switch {
		case len(u.content) < 2:
		case ended[name] == nil || ended[name].digest == "":
			return fault(what, "the upload %q does not end", name)
		case !k.memory.blobs.looked(again, name):
			return fault(what, "it sends parts of %q before it has asked how far the upload has come", name)
		case !bytes.Equal(ended[name].content, u.content) && len(ended[name].content) != len(u.content):
			return fault(what, "%d bytes, and without a kill they were %d", len(ended[name].content), len(u.content))
		}
	}
	return nil
}

func worksWithoutBlobs(ctx context.Context, k *kit, c *call) error {
	p, err := k.connected(ctx)
	if err != nil {
		return err
	}
	r := k.request(c, k.key())
	r.Blobs = false
	before := k.memory.blobs.count()
	got := k.execute(ctx, p, r)
	what := c.String() + ", without `blobs`"
	switch {
	case k.memory.blobs.count() != before:
		return fault(what, "it calls PutBlob all the same")
	case got.err != nil:
		return fault(what, "%s", got)
	case got.failed != nil && codeName(got.failed.GetCode()) != "unsupported":
		return fault(what, "%s", got)
	case got.ok() && len(blobsIn(got.completed.GetOutput().GetJson(), c.action.output)) > 0:
		return fault(what, "an output with a reference to a large value: %s", brief(got.completed.GetOutput().GetJson()))
	}
	return nil
}

package python

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/flowrun/flowrun/sdk/proto/handshake"
	pluginv1 "github.com/flowrun/flowrun/sdk/proto/pluginv1"
)

// TestIssue15_5_BothSDKsDescribeAlike: the schemas are equal to the byte, and twice the
// same.
func TestIssue15_5_BothSDKsDescribeAlike(t *testing.T) {
	t.Parallel()
	describeAlike(t, twins(t))
}

func describeAlike(t *testing.T, both map[string]*twin) {
	t.Helper()
	described := map[string]*pluginv1.DescribeResponse{}
	for name, w := range both {
		ctx, cancel := w.context(20 * time.Second)
		defer cancel()
		first, err := w.client.Describe(ctx, &pluginv1.DescribeRequest{})
		if err != nil {
			t.Fatalf("%s: %v\n%s", name, err, w.stderr)
		}
		again, err := w.client.Describe(ctx, &pluginv1.DescribeRequest{HostVersion: "9", ProtocolMinor: 99})
		if err != nil || !proto.Equal(first, again) {
			t.Errorf("%s describes itself in two ways: %v", name, err)
		}
		first.Sdk = ""
		if name == "go" { // a stream of calls is of the SDK for Go alone
			features := first.GetPlugin().GetFeatures()
			first.Plugin.Features = slices.DeleteFunc(features, func(word string) bool { return word == handshake.FeatureExecuteStream })
			if len(first.Plugin.Features) == len(features) {
				t.Error("the SDK for Go has no stream of calls")
			}
		}
		described[name] = first
	}
	if diff := cmp.Diff(readable(described["go"]), readable(described["python"])); diff != "" {
		t.Errorf("schemas (-go +python):\n%s", diff)
	}
	decidedAlike(t, described["go"], described["python"])
	if diff := cmp.Diff(described["go"], described["python"], protocmp.Transform()); diff != "" {
		t.Errorf("descriptions (-go +python):\n%s", diff)
	}
}

// decidedAlike: both say of the same actions that their schemas decide, but for those whose
// patterns and times another program reads. It takes the word out of both.
func decidedAlike(t *testing.T, inGo, inPython *pluginv1.DescribeResponse) {
	t.Helper()
	var said []string
	for i, a := range inGo.GetActions() {
		other := inPython.GetActions()[i]
		strict := strings.Contains(string(a.GetInputSchema()), `"pattern"`) || strings.Contains(string(a.GetInputSchema()), `"date-time"`)
		if a.GetSchemasDecide() != other.GetSchemasDecide() && (!strict || other.GetSchemasDecide()) {
			t.Errorf("%s: its schemas decide in Go: %v, in Python: %v", a.GetName(), a.GetSchemasDecide(), other.GetSchemasDecide())
		}
		if other.GetSchemasDecide() {
			said = append(said, a.GetName())
		}
		a.SchemasDecide, other.SchemasDecide = false, false
	}
	if len(said) == 0 || len(said) == len(inGo.GetActions()) {
		t.Errorf("the SDK for Python says of %q that their schemas decide", said)
	}
}

// readable are the schemas as texts.
func readable(d *pluginv1.DescribeResponse) []string {
	texts := []string{string(d.GetConfigSchema())}
	for _, a := range d.GetActions() {
		texts = append(texts, a.GetName(), string(a.GetInputSchema()), string(a.GetOutputSchema()))
		for _, e := range a.GetExamples() {
			texts = append(texts, string(e.GetInput()))
		}
	}
	return texts
}

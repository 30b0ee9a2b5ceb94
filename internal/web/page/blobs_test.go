package page

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestIssue16_3_LargeValuesAreListedWithALink(t *testing.T) {
	digest := "sha256:" + strings.Repeat("ab", 32)
	ref := func(name string) string {
		return `{"digest":"` + digest + `","size":1572864,"media_type":"text/csv","name":` + name + `}`
	}
	for raw, want := range map[string]int{
		ref(`"a.csv"`): 1, `[` + ref(`"a"`) + `,{"x":` + ref(`"b"`) + `}]`: 2, `{"digest":"x"}`: 0, `"text"`: 0, `null`: 0,
		`[` + strings.Repeat(ref(`"a"`)+",", 40) + `1]`: maxBlobLinks,
	} {
		if got := blobLinks("01k8zq4c0vdx3y6t7k9m2n5p8r", json.RawMessage(raw)); len(got) != want {
			t.Errorf("%.60s has %v", raw, got)
		}
	}
	link := blobLinks("01k8zq4c0vdx3y6t7k9m2n5p8r", json.RawMessage(ref(`"<a>&b\".csv"`)))[0]
	if link.Size != "1.5 MiB" || link.Type != "text/csv" || link.Save != "/runs/01k8zq4c0vdx3y6t7k9m2n5p8r/blobs/"+digest+"?name=%3Ca%3E%26b%22.csv&type=text%2Fcsv" {
		t.Errorf("%+v", link)
	}
}

package sdk_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/flowrun/flowrun/sdk"
	"github.com/flowrun/flowrun/sdk/sdktest"
)

// TestIssue12_14_ALineWithoutFieldsHasNone: nothing is said to be dropped where
// there was nothing.
func TestIssue12_14_ALineWithoutFieldsHasNone(t *testing.T) {
	p := sdktest.Open(t, sdk.New("p", "1", "", sdk.Read("say", "", func(c *sdk.Call[struct{}], _ struct{}) (struct{}, error) {
		c.Log().Debug("none")
		c.Log().Info("none")
		c.Log().Warn("none")
		c.Log().Error("none")
		c.Log().Warn("some", "n", 1, "alone")
		c.Log().Warn("large", "text", strings.Repeat("x", 70<<10))
		return struct{}{}, nil
	})), nil)
	logs := p.Call("say", nil).Logs
	if len(logs) != 6 {
		t.Fatalf("%d lines", len(logs))
	}
	for _, line := range logs {
		fields, err := json.Marshal(line.Fields)
		if err != nil {
			t.Fatal(err)
		}
		want := map[string]string{
			"none": "null", "some": `{"extra":"alone","n":1}`, "large": `{"dropped":"the fields are too large or are not JSON"}`,
		}[line.Message]
		if string(fields) != want {
			t.Errorf("%s: fields %.200s, want %s", line.Message, fields, want)
		}
	}
}

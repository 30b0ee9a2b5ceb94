package pluginhost

import (
	"strings"
	"testing"

	"github.com/flowrun/flowrun/engine/plan"
)

// TestADeliverysActionTakesItsParts: each case is a delivery that is declared for one
// action.
func TestADeliverysActionTakesItsParts(t *testing.T) {
	for name, test := range map[string]struct {
		delivery Delivery
		effect   plan.Effect
		want     string
	}{
		"all of it":                {delivery: Delivery{Action: "send", Content: "text", Markdown: "markdown", Path: "path", Title: "subject"}},
		"the least":                {delivery: Delivery{Action: "send", Content: "text"}},
		"anything is text too":     {delivery: Delivery{Action: "send", Content: "any"}},
		"no content":               {delivery: Delivery{Action: "send"}, want: "has no `` for the content"},
		"an action that is lost":   {delivery: Delivery{Action: "sned", Content: "text"}, want: "its action \"sned\" does not exist"},
		"an input that is lost":    {delivery: Delivery{Action: "send", Content: "text", Path: "pth"}, want: "has no `pth` for the path"},
		"an input that is no text": {delivery: Delivery{Action: "send", Content: "count"}, want: "the input `count` of action send, the content: "},
		"a secret input":           {delivery: Delivery{Action: "send", Content: "key"}, want: "the input `key` of action send, the content: "},
		"one input for two parts":  {delivery: Delivery{Action: "send", Content: "text", Path: "text"}, want: "can't take both content and path"},
		"a read":                   {delivery: Delivery{Action: "send", Content: "text"}, effect: plan.EffectRead, want: "its action send is a read"},
	} {
		t.Run(name, func(t *testing.T) {
			text, effect := `{"type":"string"}`, plan.EffectOnce
			if test.effect != "" {
				effect = test.effect
			}
			input := `"text":` + text + `,"markdown":` + text + `,"path":` + text + `,"subject":` + text + `,"count":{"type":"integer"},"any":{},"key":{"type":"string","writeOnly":true}`
			action, err := checkAction(&plan.Action{Name: "send", Effect: effect, Input: document(input, true), Output: document("", false)}, &Description{}, nil)
			if err != nil {
				t.Fatal(err)
			}
			c := &contract{Description: &Description{Delivery: &test.delivery}, actions: map[string]*actionContract{"send": action}}
			switch err := c.checkDelivery(); {
			case test.want == "" && err != nil:
				t.Error(err)
			case test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)):
				t.Errorf("%v, want %s", err, test.want)
			}
		})
	}
}

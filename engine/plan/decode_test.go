package plan

import (
	"bytes"
	"testing"
	"time"
)

func triggers() *Workflow {
	return &Workflow{
		Format: FormatVersion, Name: "t", Timeout: time.Hour,
		Triggers: []Trigger{
			{Name: "a", Kind: TriggerCron, PauseAfterFailures: 3, Schedule: &Schedule{Cron: "0 8 * * 1", Timezone: "Europe/Berlin", Skipped: "run_after", Repeated: "run_once", Catchup: Catchup{Window: time.Hour, Keep: "latest"}}},
			{Name: "b", Kind: TriggerWebhook, Webhook: &Webhook{HMAC: &WebhookHMAC{Secret: Value{Kind: ValueSecret, Secret: "X"}, Header: "X-S"}, Body: []byte(`{"type":"object"}`)}},
			{Name: "c", Kind: TriggerPoll, Poll: &Poll{Uses: "a.b", Every: time.Minute, Items: Expr{Source: "result.items"}, Key: Expr{Source: "item.id"}}, Inputs: []Binding{{Name: "n", Value: Value{Kind: ValueLiteral, Literal: []byte("1")}}}},
			{Name: "d", Kind: TriggerAfter, After: &After{Workflow: "w", Status: []string{"failed"}}},
		},
	}
}

// What is read once is written and read the same way for ever after, and nothing
// that is no plan breaks the reader.
func FuzzDecode(f *testing.F) {
	seed, err := triggers().Encode()
	if err != nil {
		f.Fatal(err)
	}
	for _, text := range []string{string(seed), `{"format":1}`, `{"format":2}`, `[]`, `{"format":1,"steps":[{"loop":{"steps":[{}]}}],"inputs":{"a":[1]}}`, `{"format":1,"timeout":1e3}`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		workflow, err := Decode(data)
		if err != nil {
			return
		}
		first, err := workflow.Encode()
		if err != nil {
			t.Fatalf("encode: %v", err)
		}
		again, err := Decode(first)
		if err != nil {
			t.Fatalf("decode what was encoded: %v", err)
		}
		second, err := again.Encode()
		if err != nil || !bytes.Equal(first, second) {
			t.Fatalf("not the same twice (%v)\n%s\n%s", err, first, second)
		}
	})
}

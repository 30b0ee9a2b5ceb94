package web

import (
	"encoding/json"
	"testing"

	"github.com/flowrun/flowrun/engine"
)

func TestConnectionsShowNoSecretThatStandsInClear(t *testing.T) {
	config := `{"base_url":"https://x.example","headers":{"X-Key":"abc"},"retries":3,"ref":{"token":{"$secret":"T"}},"token":"abc","token2":"${{ secrets.T }}"}`
	want := `{"base_url":"https://x.example","headers":{"X-Key":"[redacted]"},"ref":{"token":{"$secret":"T"}},"retries":3,"token":"[redacted]","token2":"${{ secrets.T }}"}`
	given := []engine.ConnectionInfo{{Name: "a", Config: json.RawMessage(config)}, {Name: "none"}}
	got := masked(given)
	if string(got[0].Config) != want || got[1].Config != nil || string(given[0].Config) != config {
		t.Errorf("masked: %s, %s; given: %s", got[0].Config, got[1].Config, given[0].Config)
	}
}

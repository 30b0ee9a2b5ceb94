package workspace

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/schema"
)

// ConnectionStatus is one connection for lists.
type ConnectionStatus struct {
	Name      string          `json:"name"`
	Plugin    string          `json:"plugin"`
	URL       string          `json:"url,omitempty"`        // the root that its requests go to
	Rate      string          `json:"rate,omitempty"`       // that holds: the override, else the plugin's first limit
	TokenFrom string          `json:"token_from,omitempty"` // the connection that its token comes from
	Login     *LoginState     `json:"login"`                // nil where there is no login
	Config    json.RawMessage `json:"config,omitempty"`     // secrets as references, clear ones left out
	Error     string          `json:"error,omitempty"`      // what is wrong with it
}

// LoginState is what is known of a connection's token without asking the
// service.
type LoginState struct {
	State            string     `json:"state"`     // none, valid (also when a refresh token gets a new access token), expired, auth_required; unknown where the plugin can't tell, or with Error
	Renewable        bool       `json:"renewable"` // it renews itself: there is a refresh token
	ExpiresAt        *time.Time `json:"expires_at,omitempty"`
	RefreshExpiresAt *time.Time `json:"refresh_expires_at,omitempty"`
	Scopes           []string   `json:"scopes,omitempty"`
	Reason           string     `json:"reason,omitempty"`
	Error            string     `json:"error,omitempty"`
}

// States of a login that are not the plugin's word.
const (
	LoginNone    = "none" // nobody is logged in; a plugin may say so too
	LoginUnknown = "unknown"
)

// ListConnections is Engine.ListConnections where there is no store yet, so that
// nobody is logged in.
func (p *Workspace) ListConnections(context.Context) []ConnectionStatus {
	list := []ConnectionStatus{}
	for _, connection := range p.ConnectionNames() {
		list = append(list, p.ConnectionStatus(connection))
	}
	return list
}

// ConnectionStatus tells what flowrun.yaml and the plugin say of a connection.
func (p *Workspace) ConnectionStatus(namedConnection NamedConnection) ConnectionStatus {
	status := ConnectionStatus{Name: namedConnection.Name, Plugin: namedConnection.Plugin}
	description, err := p.Describe(namedConnection.Plugin)
	if err != nil {
		status.Error = err.Error()
		return status
	}
	if len(description.Limiters) > 0 && description.Limiters[0].Requests > 0 { // else it is closed by a service's own word alone
		limit := description.Limiters[0]
		status.Rate = fmt.Sprintf("%d/%s", limit.Requests, schema.FormatDuration(limit.Window))
	}
	connection, err := p.Connection(namedConnection.Plugin, namedConnection.Name)
	if err != nil {
		status.Error = ConfigError(err).Message
		return status
	}
	status.Rate = cmp.Or(connection.rate, status.Rate)
	status.TokenFrom = p.TokenSource(namedConnection)
	if description.Login != nil && status.TokenFrom == "" {
		status.Login = &LoginState{State: LoginNone}
	}
	configType, err := p.configType(namedConnection.Plugin)
	if err != nil {
		status.Error = fmt.Sprintf("config schema of plugin %s: %v", namedConnection.Plugin, err)
		return status
	}
	status.URL = rootOf(p.ConnectionSettings(namedConnection), configType)
	status.Config = PublicConfig(connection.Config, configType)
	return status
}

// rootOf is the address that stands for a connection: its own, or the plugin's
// default.
func rootOf(settings map[string]json.RawMessage, configType *schema.Type) string {
	for _, name := range []string{"base_url", "auth_url", "issuer", "management_url"} {
		raw := settings[name]
		if field, ok := configType.Field(name); ok && raw == nil {
			raw = field.Default
		}
		var text string
		if json.Unmarshal(raw, &text) == nil && text != "" {
			return withoutPassword(text)
		}
	}
	return ""
}

// PublicConfig is a config without the values of secret settings that stand in
// it in clear, and without passwords in addresses.
func PublicConfig(config json.RawMessage, t *schema.Type) json.RawMessage {
	var value any
	if json.Unmarshal(config, &value) != nil {
		return nil
	}
	public, err := json.Marshal(publicValue(value, t))
	if err != nil {
		return nil
	}
	return public
}

// PublicHidden stands for a secret in clear.
const PublicHidden = "[redacted]"

func publicValue(value any, t *schema.Type) any {
	switch value := value.(type) {
	case map[string]any:
		if _, reference := value["$secret"]; reference && len(value) == 1 {
			return value
		}
		if t != nil && t.Secret {
			return PublicHidden
		}
		for name, part := range value {
			field, _ := t.Field(name)
			value[name] = publicValue(part, field)
		}
		return value
	case []any:
		for i := range value {
			value[i] = publicValue(value[i], t.Element())
		}
	case string:
		if t == nil || !t.Secret {
			return withoutPassword(value)
		}
	}
	if t != nil && t.Secret && value != nil {
		return PublicHidden
	}
	return value
}

// withoutPassword takes the password out of an address.
func withoutPassword(text string) string {
	if !strings.Contains(text, "://") || !strings.Contains(text, "@") {
		return text
	}
	parsed, err := url.Parse(text)
	if err != nil {
		return PublicHidden
	}
	return parsed.Redacted()
}

// ConfigError is the failure of a connection whose config is wrong.
func ConfigError(err error) *runs.Error {
	if outside := AsSandboxError(err); outside != nil {
		return outside.failure()
	}
	failed := runs.Failure(plan.KindInvalid, runs.NotApplied, "%v", err)
	if list, ok := errors.AsType[diag.List](err); ok && len(list) > 0 {
		var messages []string
		for _, problem := range list {
			messages = append(messages, problem.Message)
		}
		failed.Message, failed.Hint = strings.Join(messages, "; "), list[0].Hint
	}
	return failed
}

package openapi

import (
	"slices"
	"strings"

	"github.com/flowrun/flowrun/plugins/internal/recipe"
	"github.com/flowrun/flowrun/plugins/openapi/tree"
	"github.com/flowrun/flowrun/sdk"
)

// Config is a connection's settings, as far as the service takes them: which of the
// credentials there are follows from its document.
type Config struct {
	sdk.HTTPSettings
	sdk.TokenSettings
	Username     string            `json:"username,omitempty" doc:"User name"`
	Password     string            `json:"password,omitempty" secret:"true" doc:"Password"`
	APIKey       string            `json:"api_key,omitempty" secret:"true" doc:"API key"`
	APIKeys      map[string]string `json:"api_keys,omitempty" secret:"true" doc:"API keys, by what the document calls them"`
	ClientID     string            `json:"client_id,omitempty" doc:"Client at the authorization server"`
	ClientSecret string            `json:"client_secret,omitempty" secret:"true" doc:"Its secret"`
	TokenURL     string            `json:"token_url,omitempty" doc:"Token endpoint of the authorization server: a URL, or a path below base_url"`
	Scopes       []string          `json:"scopes,omitempty" doc:"Scopes to ask for"`
	Headers      map[string]string `json:"headers,omitempty" secret:"true" doc:"Headers to send with every request. Values may be secrets."`
}

// configFields are the fields of a config that a kind of credential has.
func (s *Service) configFields() []string {
	fields := []string{"base_url", "ca_file", "proxy", "user_agent", "headers"}
	keys := 0
	for _, one := range s.Auth {
		switch one.Kind {
		case recipe.Bearer:
			fields = append(fields, "token", "token_from")
			if one.TokenURL != "" {
				fields = append(fields, "client_id", "client_secret", "token_url", "scopes")
			}
		case recipe.Basic:
			fields = append(fields, "username", "password")
		case recipe.APIKey:
			keys++
		}
	}
	switch {
	case keys == 1:
		fields = append(fields, "api_key")
	case keys > 1:
		fields = append(fields, "api_keys")
	}
	return fields
}

// configTypes are the schemas of the fields of Config, with what people read of them.
var configTypes = tree.Object{
	{Name: "base_url", Value: sdk.Value(`{"type":"string","format":"uri","description":"Root URL of the service"}`)},
	{Name: "token", Value: sdk.Value(`{"type":"string","writeOnly":true,"description":"Access token"}`)},
	{Name: "token_from", Value: sdk.Value(`{"type":["object","null"],"properties":{"connection":{"type":"string","minLength":1,"description":"Name of a connection whose plugin gives tokens, such as auth"}},"required":["connection"],"additionalProperties":false,"description":"Take the access token from another connection instead"}`)},
	{Name: "client_id", Value: sdk.Value(`{"type":"string","description":"Client at the authorization server: tokens are got with its credentials"}`)},
	{Name: "client_secret", Value: sdk.Value(`{"type":"string","writeOnly":true,"description":"Its secret"}`)},
	{Name: "token_url", Value: sdk.Value(`{"type":"string","description":"Token endpoint of the authorization server: a URL, or a path below base_url"}`)},
	{Name: "scopes", Value: sdk.Value(`{"type":"array","items":{"type":"string"},"description":"Scopes to ask for"}`)},
	{Name: "username", Value: sdk.Value(`{"type":"string","description":"User name"}`)},
	{Name: "password", Value: sdk.Value(`{"type":"string","writeOnly":true,"description":"Password"}`)},
	{Name: "api_key", Value: sdk.Value(`{"type":"string","writeOnly":true,"description":"API key"}`)},
	{Name: "api_keys", Value: sdk.Value(`{"type":"object","description":"API keys, by what the document calls them"}`)},
	{Name: "headers", Value: sdk.Value(`{"type":"object","additionalProperties":{"type":"string"},"writeOnly":true,"description":"Headers to send with every request. Values may be secrets."}`)},
	{Name: "ca_file", Value: sdk.Value(`{"type":"string","description":"PEM file with certificates to trust besides the system's"}`)},
	{Name: "proxy", Value: sdk.Value(`{"type":"string","description":"URL of an HTTP proxy; by default the environment's proxy variables count"}`)},
	{Name: "user_agent", Value: sdk.Value(`{"type":"string","description":"User-Agent to send instead of the plugin's own"}`)},
}

// ConfigSchema is the schema of the service's connections: of all fields those that its
// document asks for.
func (s *Service) ConfigSchema() sdk.Value {
	wanted := s.configFields()
	properties := slices.DeleteFunc(slices.Clone(configTypes), func(m tree.Field) bool { return !slices.Contains(wanted, m.Name) })
	set := func(name, word string, value sdk.Value) {
		if field, ok := tree.ReadObject(properties.Get(name)); ok {
			properties = properties.With(name, field.With(word, value).JSON())
		}
	}
	if s.BaseDoc != "" {
		set("base_url", "description", tree.Text(s.BaseDoc))
	}
	if s.BaseURL != "" {
		set("base_url", "default", tree.Text(s.BaseURL))
	}
	keys := tree.Object{}
	for _, one := range s.Auth {
		doc := one.Doc
		if one.Kind == recipe.APIKey {
			doc = strings.TrimSpace(doc + " (" + one.In + " " + one.Name + ")")
			set("api_key", "description", tree.Text(doc))
			keys = keys.With(one.Key, tree.Object{
				{Name: "type", Value: sdk.Value(`"string"`)}, {Name: "description", Value: tree.Text(doc)}, {Name: "writeOnly", Value: sdk.Value("true")},
			}.JSON())
		}
		if one.TokenURL != "" {
			set("token_url", "default", tree.Text(one.TokenURL))
		}
		if len(one.Scopes) > 0 {
			set("scopes", "default", sdk.JSON(one.Scopes))
		}
		if one.Kind == recipe.Bearer && doc != "" {
			set("token", "description", tree.Text(doc))
		}
	}
	set("api_keys", "properties", keys.JSON())
	set("api_keys", "additionalProperties", sdk.Value("false"))
	root := tree.Object{{Name: "type", Value: sdk.Value(`"object"`)}, {Name: "properties", Value: properties.JSON()}}
	if s.BaseURL == "" {
		root = root.With("required", sdk.Value(`["base_url"]`))
	}
	return root.With("additionalProperties", sdk.Value("false")).JSON()
}

// checkConfig refuses what no header can carry, and half of a credential.
func checkConfig(config Config) []sdk.Problem {
	problems := recipe.CheckHeaders(config.Headers)
	if config.ClientID == "" && config.ClientSecret != "" {
		problems = append(problems, sdk.Problemf("/client_id", "is missing beside client_secret"))
	}
	if config.ClientID != "" && (config.Token != "" || config.TokenFrom != nil) {
		problems = append(problems, sdk.Problemf("/client_id", "must not be set beside token or token_from").WithDetail("keep one of them"))
	}
	for _, one := range [][2]string{{"/token", config.Token}, {"/api_key", config.APIKey}} {
		if !sdk.IsHeaderValue(one[1]) {
			problems = append(problems, sdk.Problemf(one[0], "must not hold line breaks or control characters").WithDetail("store it again without a line break at its end"))
		}
	}
	return problems
}

// credentials are what a connection has, for the recipes.
func credentials(c *sdk.Call[Config]) recipe.Credentials {
	config := c.Config
	k := recipe.Credentials{Username: config.Username, Password: config.Password, Keys: config.APIKeys, Only: config.APIKey, Names: map[string]string{
		recipe.Bearer: "token", recipe.Basic: "username", recipe.APIKey: "api_key",
	}}
	if config.Token != "" || config.TokenFrom != nil {
		k.Token = func() (string, error) { return c.AccessToken(config.TokenSettings) }
	}
	if config.ClientID != "" {
		k.Grant = sdk.ClientCredentials{TokenURL: config.TokenURL, ClientID: config.ClientID, ClientSecret: config.ClientSecret, Scopes: config.Scopes}
	}
	return k
}

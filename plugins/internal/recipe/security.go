package recipe

import (
	"encoding/base64"
	"net/http"
	"slices"
	"strings"

	"github.com/flowrun/flowrun/sdk"
)

// The kinds of credentials.
const (
	Bearer = "bearer"  // Authorization: Bearer
	Basic  = "basic"   // Authorization: Basic
	APIKey = "api_key" // a key in a header, the query or a cookie
)

// Requirement is a set of credentials that are sent together; an empty one is met by
// none.
type Requirement []Scheme

// Scheme is one credential.
type Scheme struct {
	Kind string `json:"kind"`           // Bearer, Basic or APIKey
	Name string `json:"name,omitempty"` // of an API key: the header, parameter or cookie
	In   string `json:"in,omitempty"`   // of an API key: InHeader, InQuery or InCookie
	Key  string `json:"key,omitempty"`  // of an API key: which of the connection's
}

// Credentials are what a connection has.
type Credentials struct {
	Token    func() (string, error) // access token, renewed where it has to be; nil = there is none
	Grant    sdk.Grant              // gets tokens; nil = there is none
	Username string
	Password string
	Keys     map[string]string // API keys by Scheme.Key
	Only     string            // the API key of a service that has one kind of them
	// Names are the settings of each kind, for people: "token", "username".
	Names map[string]string
}

// has reports whether the connection can send a credential.
func (k Credentials) has(s Scheme) bool {
	switch s.Kind {
	case Bearer:
		return k.Token != nil || k.Grant != nil
	case Basic:
		return k.Username != "" || k.Password != ""
	}
	return k.key(s) != ""
}

func (k Credentials) key(s Scheme) string {
	if key := k.Keys[s.Key]; key != "" {
		return key
	}
	return k.Only
}

// any returns all credentials that the connection has, as far as they need no name.
func (k Credentials) any() Requirement {
	switch {
	case k.Token != nil || k.Grant != nil:
		return Requirement{{Kind: Bearer}}
	case k.Username != "" || k.Password != "":
		return Requirement{{Kind: Basic}}
	}
	return nil
}

// authorize returns a client that sends what one of the requirements wants: the first
// for which the connection has all. Where there are no requirements, it is whatever the
// connection has.
func (k Credentials) authorize(c Call, client *sdk.HTTPClient, wanted []Requirement, request *sdk.Request) (*sdk.HTTPClient, error) {
	if len(wanted) == 0 {
		return k.send(client, k.any(), request)
	}
	optional := false
	for _, requirement := range wanted {
		if len(requirement) == 0 {
			optional = true
			continue
		}
		if !slices.ContainsFunc(requirement, func(s Scheme) bool { return !k.has(s) }) {
			return k.send(client, requirement, request)
		}
	}
	if optional {
		return client, nil
	}
	return nil, sdk.Invalid("", "connection %s has no credential for this action, which wants %s", c.ConnectionName(), k.words(wanted)).
		WithHint("set it in the config of connection %s in flowrun.yaml, as a secret", c.ConnectionName())
}

// words names the settings that would do.
func (k Credentials) words(wanted []Requirement) string {
	var choices []string
	for _, requirement := range wanted {
		var names []string
		for _, scheme := range requirement {
			name := "`" + scheme.Kind + "`"
			if setting := k.Names[scheme.Kind+"/"+scheme.Key]; setting != "" {
				name = "`" + setting + "`"
			} else if setting := k.Names[scheme.Kind]; setting != "" {
				name = "`" + setting + "`"
			}
			names = append(names, name)
		}
		if choice := strings.Join(names, " and "); choice != "" && !slices.Contains(choices, choice) {
			choices = append(choices, choice)
		}
	}
	return strings.Join(choices, ", or ")
}

// send puts credentials into the request.
func (k Credentials) send(client *sdk.HTTPClient, requirement Requirement, request *sdk.Request) (*sdk.HTTPClient, error) {
	for _, scheme := range requirement {
		switch scheme.Kind {
		case Bearer:
			if k.Token == nil {
				client = client.WithGrant(k.Grant)
				continue
			}
			token, err := k.Token()
			if err != nil {
				return nil, err
			}
			client = client.WithBearer(token)
		case Basic:
			pair := base64.StdEncoding.EncodeToString([]byte(k.Username + ":" + k.Password))
			client = client.WithHeader("Authorization", "Basic "+pair)
		default:
			client = k.sendKey(client, scheme, request)
		}
	}
	return client, nil
}

func (k Credentials) sendKey(client *sdk.HTTPClient, scheme Scheme, request *sdk.Request) *sdk.HTTPClient {
	key := k.key(scheme)
	switch scheme.In {
	case InQuery:
		if request.Query == nil {
			request.Query = map[string][]string{}
		}
		request.Query.Set(scheme.Name, key)
		request.SecretQuery = append(request.SecretQuery, scheme.Name)
	case InCookie:
		request.Cookies = append(request.Cookies, &http.Cookie{Name: scheme.Name, Value: key})
	default:
		client = client.WithHeader(scheme.Name, key)
	}
	return client
}

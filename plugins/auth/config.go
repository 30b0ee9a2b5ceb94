package auth

import (
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/flowrun/flowrun/sdk"
)

// Config is a connection's settings. Each is optional by itself: a connection may
// be for a login, for the management API or for SCIM alone. An action that lacks
// one says so.
type Config struct {
	AuthURL      string   `json:"auth_url,omitempty" doc:"Root URL of the authorization server" example:"https://auth.example.com"`
	ClientID     string   `json:"client_id,omitempty" doc:"Client of the limited-input-device type"`
	ClientSecret string   `json:"client_secret,omitempty" secret:"true" doc:"Secret of the client; needed by the device grant unless client_auth is none"`
	Scopes       []string `json:"scopes,omitempty" doc:"What flowrun connections login asks for"`

	ManagementURL string `json:"management_url,omitempty" doc:"Root URL of the management and SCIM APIs, always https" example:"https://manage.example.com"`
	APIKey        string `json:"api_key,omitempty" secret:"true" doc:"API key of the management API"`
	SCIMToken     string `json:"scim_token,omitempty" secret:"true" doc:"Token of the SCIM API"`

	AllowHosts []string `json:"allow_hosts,omitempty" doc:"Hosts that resource_get may send the token to: host (any port) or host:port"`

	Issuer                      string `json:"issuer,omitempty" doc:"Issuer whose metadata names the endpoints (discovery)"`
	DeviceAuthorizationEndpoint string `json:"device_authorization_endpoint,omitempty" doc:"URL instead of {auth_url}/device/code"`
	TokenEndpoint               string `json:"token_endpoint,omitempty" doc:"URL instead of {auth_url}/token"`
	RevocationEndpoint          string `json:"revocation_endpoint,omitempty" doc:"URL instead of {auth_url}/revoke"`
	ClientAuth                  string `json:"client_auth" enum:"auto,body,basic,none" default:"auto" doc:"Where the client's secret goes: the form, a Basic header, or nowhere; auto is what the issuer's metadata says, else the form"`
	RevokeTokenIn               string `json:"revoke_token_in" enum:"auto,query,body" default:"auto" doc:"Where a revocation carries the token; auto is the form where the issuer's metadata names the endpoint, else the query"`

	CAFile    string `json:"ca_file,omitempty" doc:"PEM file with certificates to trust besides the system's"`
	Proxy     string `json:"proxy,omitempty" doc:"URL of an HTTP proxy; by default the environment's proxy variables count"`
	UserAgent string `json:"user_agent,omitempty" doc:"User-Agent to send instead of the plugin's own"`
}

// checkConfig refuses settings that could never work or would send a credential
// in the clear.
func checkConfig(c Config) []sdk.Problem {
	var problems []sdk.Problem
	for _, setting := range []struct{ name, value string }{
		{"auth_url", c.AuthURL},
		{"issuer", c.Issuer},
		{"device_authorization_endpoint", c.DeviceAuthorizationEndpoint},
		{"token_endpoint", c.TokenEndpoint},
		{"revocation_endpoint", c.RevocationEndpoint},
	} {
		if problem := urlProblem(setting.value); problem != "" {
			problems = append(problems, sdk.Problemf("/"+setting.name, "%s", problem))
		}
	}
	problems = append(problems, managementProblems(c.ManagementURL)...)
	for i, scope := range c.Scopes {
		if problem := scopeProblem(scope); problem != "" {
			problems = append(problems, sdk.Problemf(sdk.Pointer("scopes", i), "%s", problem))
		}
	}
	for i, host := range c.AllowHosts {
		if !isHostEntry(host) {
			problems = append(problems, sdk.Problemf(sdk.Pointer("allow_hosts", i), "must be a host or host:port").
				WithDetail("write api.example.com, or api.example.com:8443 for one port only, without https:// and path"))
		}
	}
	if c.ClientAuth == "none" && c.ClientSecret != "" {
		problems = append(problems, sdk.Warningf("/client_auth", "is none, so client_secret is never sent"))
	}
	return problems
}

// urlProblem checks a URL of the authorization server: absolute, and https unless
// it is on this machine. "" is no setting and no problem.
func urlProblem(text string) string {
	if text == "" {
		return ""
	}
	if _, err := sdk.CheckBaseURL(text); err != nil {
		return err.Error()
	}
	if u, err := url.Parse(text); err != nil || !isSafe(u) {
		return "must start with https://: secrets are sent there (http is for loopback addresses only)"
	}
	return ""
}

// managementProblems checks management_url: the root of the host, https
// even on loopback.
func managementProblems(text string) []sdk.Problem {
	if text == "" {
		return nil
	}
	root, err := sdk.CheckBaseURL(text)
	switch {
	case err != nil:
		return []sdk.Problem{sdk.Problemf("/management_url", "%v", err)}
	case !strings.HasPrefix(root, "https://"):
		return []sdk.Problem{sdk.Problemf("/management_url", "must start with https://").
			WithDetail("the management and SCIM APIs accept https only, on loopback too; for a private certificate authority set ca_file")}
	case strings.HasSuffix(root, "/api/v1"), strings.HasSuffix(root, "/api/scim/v2"):
		return []sdk.Problem{sdk.Problemf("/management_url", "must be the root of the host").
			WithDetail("write it without /api/v1 and /api/scim/v2: the plugin adds them")}
	}
	return nil
}

// isSafe reports whether a secret may be sent to a URL: by https, or to this
// machine.
func isSafe(u *url.URL) bool {
	return u.Scheme == "https" || u.Scheme == "http" && isLoopback(u.Hostname())
}

func isLoopback(host string) bool {
	if addr, err := netip.ParseAddr(host); err == nil {
		return addr.Unmap().IsLoopback()
	}
	return strings.EqualFold(host, "localhost")
}

// isHostEntry reports whether text is what allow_hosts takes.
func isHostEntry(text string) bool {
	host, port := splitHostEntry(text)
	if host == "" || strings.ContainsAny(host, "/@?#% \\[]*") {
		return false
	}
	for _, digit := range port {
		if digit < '0' || digit > '9' {
			return false
		}
	}
	_, err := netip.ParseAddr(host)
	return err == nil || !strings.Contains(host, ":")
}

// splitHostEntry splits host:port; an entry without a port has "".
func splitHostEntry(text string) (host, port string) {
	if addr, err := netip.ParseAddr(strings.Trim(text, "[]")); err == nil {
		return addr.String(), ""
	}
	if host, port, err := net.SplitHostPort(text); err == nil && port != "" {
		return host, port
	}
	return text, ""
}

// allows reports whether allow_hosts names the host and port of a URL.
func (c Config) allows(u *url.URL) bool {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return slices.ContainsFunc(c.AllowHosts, func(entry string) bool {
		host, onlyPort := splitHostEntry(entry)
		return sameHost(host, u.Hostname()) && (onlyPort == "" || onlyPort == port)
	})
}

func sameHost(a, b string) bool {
	if x, err := netip.ParseAddr(a); err == nil {
		y, err := netip.ParseAddr(b)
		return err == nil && x == y
	}
	return strings.EqualFold(a, b)
}

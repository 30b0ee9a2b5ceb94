package sdk

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"
)

// HTTPSettings are the settings that every HTTP service's config has: embed it
// in the config. base_url is required unless the plugin has BaseURL.
type HTTPSettings struct {
	BaseURL   string `json:"base_url" doc:"Root URL of the service" format:"uri" example:"https://api.example.com"`
	CAFile    string `json:"ca_file,omitempty" doc:"PEM file with certificates to trust besides the system's"`
	Proxy     string `json:"proxy,omitempty" doc:"URL of an HTTP proxy; by default the environment's proxy variables count"`
	UserAgent string `json:"user_agent,omitempty" doc:"User-Agent to send instead of the plugin's own"`
}

// Bounds of one HTTP exchange.
const (
	DefaultMaxBody = 8 << 20  // bytes of an answer's body
	HardMaxBody    = 64 << 20 // the most that Request.MaxBody may ask for
	maxExcerpt     = 512      // bytes of a body shown in an error (REQUIREMENTS 3)
	maxHeaderBytes = 64 << 10
	maxRedirects   = 5
	dialTimeout    = 10 * time.Second
	idleTimeout    = 60 * time.Second
)

// CheckBaseURL returns the base URL without a trailing slash, or says what is
// wrong with it: it must be absolute, http or https, without query, fragment
// and user.
func CheckBaseURL(text string) (string, error) {
	u, err := url.Parse(text)
	switch {
	case err != nil:
		// the parser's error would repeat the text, which may hold a password
		return "", fmt.Errorf("is no URL")
	case u.Scheme != "http" && u.Scheme != "https":
		return "", fmt.Errorf("must start with http:// or https://")
	case u.Hostname() == "":
		return "", fmt.Errorf("has no host")
	case u.User != nil:
		return "", fmt.Errorf("must not hold a user or a password")
	case u.RawQuery != "" || u.ForceQuery:
		return "", fmt.Errorf("must not have a query")
	case strings.Contains(text, "#"):
		return "", fmt.Errorf("must not have a fragment")
	case hasDotSegment(u.EscapedPath()):
		return "", fmt.Errorf("must not have . or .. in its path")
	}
	return strings.TrimRight(text, "/"), nil
}

// settingsOf reads the HTTP settings of any config by their names.
func settingsOf(config any) HTTPSettings {
	var settings HTTPSettings
	settingsInto(config, &settings)
	return settings
}

// settingsInto reads known settings of any config by their names into a
// pointer. Fields of other types are simply not these settings.
func settingsInto(config, into any) bool {
	encoded, err := json.Marshal(config)
	return err == nil && json.Unmarshal(encoded, into) == nil
}

// checkSettings checks the settings as far as the config has them.
func checkSettings(s HTTPSettings) []Problem {
	var problems []Problem
	if s.BaseURL != "" {
		if _, err := CheckBaseURL(s.BaseURL); err != nil {
			problems = append(problems, Problemf("/base_url", "%v", err).
				WithDetail("write the service's root, such as https://api.example.com"))
		}
	}
	if _, err := proxyFunc(s.Proxy); err != nil {
		problems = append(problems, Problemf("/proxy", "%v", err))
	}
	if _, err := trustedRoots(s.CAFile); err != nil {
		problems = append(problems, Problemf("/ca_file", "%v", err))
	}
	return problems
}

// newTransport makes the connection's own pool. It keeps no cookies. r bounds where it
// connects to, nil = anywhere.
func newTransport(s HTTPSettings, own ClientCertificate, r *reach) (*http.Transport, error) {
	proxy, err := proxyFunc(s.Proxy)
	if err != nil {
		return nil, err
	}
	roots, err := trustedRoots(s.CAFile)
	if err != nil {
		return nil, err
	}
	certificates, err := own.load()
	if err != nil {
		return nil, err
	}
	dialer := &net.Dialer{Timeout: dialTimeout}
	transport := &http.Transport{
		Proxy:                  proxy,
		DialContext:            dialer.DialContext,
		TLSClientConfig:        &tls.Config{RootCAs: roots, Certificates: certificates, MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout:    dialTimeout,
		ForceAttemptHTTP2:      true,
		MaxIdleConnsPerHost:    16,
		IdleConnTimeout:        idleTimeout,
		MaxResponseHeaderBytes: maxHeaderBytes,
	}
	r.bound(transport, dialer)
	return transport, nil
}

func proxyFunc(text string) (func(*http.Request) (*url.URL, error), error) {
	if text == "" {
		return http.ProxyFromEnvironment, nil
	}
	u, err := url.Parse(text)
	if err != nil || u.Hostname() == "" {
		return nil, fmt.Errorf("is no URL of a proxy such as http://proxy.example.com:3128")
	}
	switch u.Scheme {
	case "http", "https", "socks5", "socks5h":
		return http.ProxyURL(u), nil
	}
	return nil, fmt.Errorf("must start with http://, https:// or socks5://")
}

// trustedRoots returns the system's certificates with those of a file, or nil
// for the system's alone.
func trustedRoots(file string) (*x509.CertPool, error) {
	if file == "" {
		return nil, nil
	}
	pem, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("%s can't be read: %w", file, pathless(err))
	}
	roots, err := x509.SystemCertPool()
	if err != nil {
		roots = x509.NewCertPool()
	}
	if !roots.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("%s holds no PEM certificate", file)
	}
	return roots, nil
}

// pathless takes the path out of an error that says it once more.
func pathless(err error) error {
	if path, ok := errors.AsType[*fs.PathError](err); ok {
		return path.Err
	}
	return err
}

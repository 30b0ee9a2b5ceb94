package project

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestTheServerIsRead(t *testing.T) {
	for text, want := range map[string]Server{
		``:           {},
		`server: {}`: {},
		`server: {listen: "127.0.0.1:7070", hosts: [], tls_cert: "", tls_key: ""}`: {Listen: "127.0.0.1:7070"},
		`server: {listen: "[::1]:0"}`:                                                                    {Listen: "[::1]:0"},
		`server: {listen: ":443", tls_cert: cert.pem, tls_key: /etc/key.pem}`:                            {Listen: ":443", TLSCert: "cert.pem", TLSKey: "/etc/key.pem"},
		`server: {listen: localhost:7070, hosts: [Flow.example.com, "b.example:8443", "[2001:db8::1]"]}`: {Listen: "localhost:7070", Hosts: []string{"flow.example.com", "b.example:8443", "[2001:db8::1]"}},
		`server: {behind_proxy: {trusted_proxies: [10.0.0.0/8]}}`:                                        {BehindProxy: true, TrustedProxies: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}},
		`server: {remote_admin: true}`:                                                                   {},
		`server: {remote_admin: false}`:                                                                  {NoRemoteAdmin: true},
		`server: {trusted_proxies: [127.0.0.1, 10.1.2.3/8, "::1", "::ffff:192.0.2.1", "2001:db8::/32"]}`: {TrustedProxies: []netip.Prefix{
			netip.MustParsePrefix("127.0.0.1/32"), netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("::1/128"),
			netip.MustParsePrefix("192.0.2.1/32"), netip.MustParsePrefix("2001:db8::/32"),
		}},
	} {
		read, problems := Parse("flowrun.yaml", []byte(text+"\n"))
		if problems.HasErrors() && text != "" {
			t.Errorf("%s: %v", text, problems)
		}
		if diff := cmp.Diff(want, read.Server, cmpopts.IgnoreFields(Server{}, "Pos"), cmpopts.EquateComparable(netip.Prefix{})); diff != "" {
			t.Errorf("%s (-want +got)\n%s", text, diff)
		}
	}
}

func TestWrongServers(t *testing.T) {
	for text, want := range map[string]string{
		`server: [a]`:                                            "FR5001 1:9",
		`server: {lisen: "127.0.0.1:1"}`:                         "FR5002 1:10",
		`server: {listen: 127.0.0.1}`:                            "FR5022 1:18",
		`server: {listen: "127.0.0.1:http"}`:                     "FR5022 1:18",
		`server: {listen: "127.0.0.1:65536"}`:                    "FR5022 1:18",
		`server: {listen: "127.0.0.1:070"}`:                      "FR5022 1:18",
		`server: {listen: "http://127.0.0.1:7070"}`:              "FR5022 1:18",
		`server: {listen: [a]}`:                                  "FR5001 1:18",
		`server: {hosts: a.example}`:                             "FR5001 1:17",
		`server: {hosts: ["*"]}`:                                 "FR5022 1:18",
		`server: {hosts: ["*.example.com"]}`:                     "FR5022 1:18",
		`server: {hosts: ["https://a.example"]}`:                 "FR5022 1:18",
		`server: {hosts: [a.example/x]}`:                         "FR5022 1:18",
		`server: {hosts: ["a.example."]}`:                        "FR5022 1:18",
		`server: {hosts: ["a b"]}`:                               "FR5022 1:18",
		`server: {hosts: [a.example, "a.example:x"]}`:            "FR5022 1:29",
		`server: {behind_proxy: {}}`:                             "FR5001 1:24",
		`server: {behind_proxy: {trusted_proxies: [0.0.0.0/0]}}`: "FR5022 1:43",
		`server: {remote_admin: "false"}`:                        "FR5001 1:24",
		`server: {remote_admin: no}`:                             "FR5001 1:24",
		`server: {trusted_proxies: 127.0.0.1}`:                   "FR5001 1:27",
		`server: {trusted_proxies: [proxy.example]}`:             "FR5022 1:28",
		`server: {trusted_proxies: [10.0.0.0/33]}`:               "FR5022 1:28",
		`server: {trusted_proxies: ["127.0.0.1:80"]}`:            "FR5022 1:28",
		`server: {trusted_proxies: ["fe80::1%eth0"]}`:            "FR5022 1:28",
		`server: {trusted_proxies: [0.0.0.0/0]}`:                 "FR5022 1:28",
		`server: {trusted_proxies: ["::/0"]}`:                    "FR5022 1:28",
		`server: {tls_cert: cert.pem}`:                           "FR5023 1:9",
		`server: {tls_cert: cert.pem, tls_key: ""}`:              "FR5023 1:9",
		`server: {tls_cert: [], tls_key: key.pem}`:               "FR5023 1:9, FR5001 1:20",
	} {
		_, problems := Parse("flowrun.yaml", []byte(text))
		var places []string
		for _, p := range problems {
			places = append(places, fmt.Sprintf("%s %d:%d", p.Code, p.Line, p.Column))
		}
		if got := strings.Join(places, ", "); got != want {
			t.Errorf("%s\n got %s\nwant %s\n%v", text, got, want, problems)
		}
	}
}

package web

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/flowrun/flowrun/internal/web/wire"
)

// TestWhatAProxySaysIsNoWordOfTheServer: while a server behind it starts anew, the command
// tries again. What the server itself refuses is told.
func TestWhatAProxySaysIsNoWordOfTheServer(t *testing.T) {
	for what, test := range map[string]struct {
		answer http.HandlerFunc
		gone   bool
		denied bool
	}{
		"a proxy that reaches nobody": {func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "<h1>Bad Gateway</h1>", http.StatusBadGateway)
		}, true, false},
		"a proxy without a server": {func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "no healthy upstream", http.StatusServiceUnavailable)
		}, true, false},
		"a server that is ending": {func(w http.ResponseWriter, _ *http.Request) { wire.NewProblem(wire.CodeClosing, "it ends").Write(w) }, true, false},
		"a server that takes nothing": {func(w http.ResponseWriter, _ *http.Request) {
			wire.NewProblem(wire.CodeUnavailable, "no room").Write(w)
		}, false, false},
		"a token that is not known": {func(w http.ResponseWriter, _ *http.Request) { wire.NewProblem(wire.CodeUnauthorized, "no").Write(w) }, false, true},
	} {
		t.Run(what, func(t *testing.T) {
			server := httptest.NewServer(test.answer)
			defer server.Close()
			address, err := ParseRemote(server.URL)
			if err != nil {
				t.Fatal(err)
			}
			client, _, err := DialRemote(t.Context(), Remote{URL: address, Token: "frt_x"})
			if client != nil {
				client.Close()
			}
			_, gone := errors.AsType[*GoneError](err)
			_, denied := errors.AsType[*DeniedError](err)
			if err == nil || gone != test.gone || denied != test.denied {
				t.Errorf("%v: gone %t, denied %t", err, gone, denied)
			}
		})
	}
}

func TestAddressesOfServers(t *testing.T) {
	for text, good := range map[string]bool{
		"https://flow.example.com": true, "https://flow.example.com:7443/": true, "http://127.0.0.1:7070": true, "http://localhost": true, "http://[::1]:7070": true,
		"http://flow.example.com": false, "http://10.0.0.1": false, "flow.example.com": false, "https://": false, "https://ann@flow.example.com": false, "https://flow.example.com/x": false, "https://flow.example.com?a=b": false, "ftp://flow.example.com": false,
	} {
		if _, err := ParseRemote(text); (err == nil) != good {
			t.Errorf("%s: %v", text, err)
		}
	}
}

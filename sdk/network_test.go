package sdk_test

import (
	"errors"
	"io"
	"net"
	"strconv"
	"strings"
	"testing"

	"github.com/flowrun/flowrun/sdk"
	"github.com/flowrun/flowrun/sdk/sdktest"
)

// lineConfig is the config of a service that speaks a protocol of its own.
type lineConfig struct {
	Host   string `json:"host"`
	CAFile string `json:"ca_file,omitempty"`
	sdk.NetworkSettings
	sdk.ClientCertificate
}

type lineIn struct {
	Port int `json:"port"`
}

type lineOut struct {
	Said string `json:"said"`
}

func linePlugin() *sdk.Plugin {
	return sdk.New("line", "1.0.0", "", sdk.Read("ask", "", func(c *sdk.Call[lineConfig], in lineIn) (lineOut, error) {
		if config, err := c.TLSConfig("example.com"); err != nil || config.ServerName != "example.com" || config.MinVersion == 0 || (config.RootCAs != nil) != (c.Config.CAFile != "") {
			return lineOut{}, errors.New("the configuration of TLS is not what the config says")
		}
		conn, err := c.Dial(c.Config.Host, strconv.Itoa(in.Port))
		if err != nil {
			return lineOut{}, err
		}
		defer conn.Close()
		said, err := io.ReadAll(conn)
		if err == nil && len(said) == 0 {
			err = io.EOF
		}
		if err != nil {
			return lineOut{}, c.NetworkError(err)
		}
		return lineOut{Said: string(said)}, nil
	}))
}

// TestDialGoesWhereTheConnectionAllows: to public addresses, and to others where they are
// granted. What is refused was not sent.
func TestDialGoesWhereTheConnectionAllows(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	says := "hello"
	go func() {
		defer close(ended)
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			_, _ = io.WriteString(conn, says)
			_ = conn.Close()
		}
	}()
	t.Cleanup(func() {
		_ = listener.Close()
		<-ended
	})
	port := listener.Addr().(*net.TCPAddr).Port
	ask := func(config map[string]any, port int) sdktest.Result {
		return sdktest.Open(t, linePlugin(), config).Call("ask", lineIn{Port: port})
	}
	for name, c := range map[string]struct {
		config map[string]any
		code   sdk.Code // 0 = it is reached
		text   string
	}{
		"granted as private":   {map[string]any{"host": "127.0.0.1", "private": true}, 0, ""},
		"granted as a network": {map[string]any{"host": "127.0.0.1", "networks": []string{"127.0.0.0/8"}}, 0, ""},
		"a name":               {map[string]any{"host": "localhost", "private": true}, 0, ""},
		"not granted":          {map[string]any{"host": "127.0.0.1"}, sdk.CodeForbidden, "not a public one"},
		"another network":      {map[string]any{"host": "127.0.0.1", "networks": []string{"10.0.0.0/8"}}, sdk.CodeForbidden, "not a public one"},
		"a name of it":         {map[string]any{"host": "localhost"}, sdk.CodeForbidden, "the host localhost has the address"},
		"a short form":         {map[string]any{"host": "127.1", "private": true}, sdk.CodeForbidden, "is a number"},
		"mapped":               {map[string]any{"host": "::ffff:127.0.0.1"}, sdk.CodeForbidden, "not a public one"},
		"with a zone":          {map[string]any{"host": "fe80::1%lo", "private": true}, sdk.CodeForbidden, "zone"},
	} {
		result := ask(c.config, port)
		switch {
		case c.code == 0 && (result.Err != nil || !strings.Contains(string(result.Output), "hello")):
			t.Errorf("%s: %v", name, result.Err)
		case c.code != 0 && (result.Err == nil || result.Err.Code != c.code || result.Err.Applied != sdk.NotApplied || !strings.Contains(result.Err.Message, c.text) || result.Err.Hint == ""):
			t.Errorf("%s: %v", name, result.Err)
		}
	}
	private := map[string]any{"host": "127.0.0.1", "private": true}
	if result := ask(private, 1); result.Err == nil || result.Err.Code != sdk.CodeUnavailable || result.Err.Message != "connection refused" || result.Err.Applied != sdk.NotApplied {
		t.Errorf("nobody listens: %v", result.Err)
	}
	for at, more := range map[string]map[string]any{"/networks/0": {"networks": []string{"10.0.0.1"}}, "/ca_file": {"ca_file": "/no/such/file"}, "/key_file": {"cert_file": "x.pem"}} {
		config := map[string]any{"host": "127.0.0.1"}
		for name, value := range more {
			config[name] = value
		}
		if problems := sdktest.Serve(t, linePlugin()).Connect("line", config); len(problems) != 1 || problems[0].Pointer != at {
			t.Errorf("%s: %v", at, problems)
		}
	}
}

package workspace

import (
	"os"
	"testing"

	"github.com/flowrun/flowrun/sdk"
)

// TestMain is a plugin where a workspace starts the test program as one.
func TestMain(m *testing.M) {
	if len(os.Args) == 4 && os.Args[1] == "plugins" && os.Args[2] == "serve" {
		if os.Args[3] == "login" {
			loginPlugin().Serve()
			return
		}
		feedPlugin().Serve()
		return
	}
	os.Exit(m.Run())
}

// feedPlugin gives no tokens, and has a rule about an input.
func feedPlugin() *sdk.Plugin {
	return sdk.New("feed", "1.0.0", "A list", sdk.Read("list", "Read the list", func(*sdk.Call[struct{}], struct{}) (struct{}, error) { return struct{}{}, nil }),
		sdk.Read("meet", "Has a rule", func(*sdk.Call[struct{}], meetIn) (struct{}, error) { return struct{}{}, nil }, sdk.ValidateWith(meeting())))
}

type loginConfig struct {
	TokenFrom *struct {
		Connection string `json:"connection" doc:"Whose token is used"`
	} `json:"token_from" doc:"Another connection's token"`
}

type loginOut struct {
	Token string `json:"token" doc:"The token" secret:"true"`
}

// loginPlugin has the action of a token.
func loginPlugin() *sdk.Plugin {
	return sdk.New("login", "1.0.0", "Logins", sdk.TokenAction("token"),
		sdk.Read("token", "Give the token", func(*sdk.Call[loginConfig], struct{}) (loginOut, error) { return loginOut{Token: "t0ken"}, nil }))
}

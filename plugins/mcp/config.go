package mcp

import (
	"net/url"
	"strings"

	"github.com/flowrun/flowrun/sdk"
)

// Config is a connection: a server that is a program, or one at an address.
type Config struct {
	Command   []string          `json:"command,omitempty" doc:"The server as a program, with its arguments; it speaks MCP over stdin and stdout"`
	Cwd       string            `json:"cwd,omitempty" doc:"The folder that the program runs in, from flowrun.yaml's, which it is where nothing is said"`
	Env       map[string]string `json:"env,omitempty" doc:"Its environment, besides PATH, HOME, TMPDIR, LANG and TZ"`
	SecretEnv map[string]string `json:"secret_env,omitempty" secret:"true" doc:"More of its environment, of secrets"`

	URL string `json:"url,omitempty" format:"uri" doc:"The server at an address, over streamable HTTP; credentials go to its origin alone" example:"https://mcp.example.com/mcp"`
	sdk.TokenSettings
	Headers map[string]string `json:"headers,omitempty" secret:"true" doc:"Headers of every request to the server. Values may be secrets"`

	Simulated string `json:"simulated,omitempty" doc:"No server is asked, and each tool answers with something of its shape; names the sandbox, which sets it"`
}

// checkConfig finds what the schema can't say.
func checkConfig(c Config) (problems []sdk.Problem) {
	say := func(pointer, format string, args ...any) {
		problems = append(problems, sdk.Problemf(pointer, format, args...))
	}
	switch {
	case c.Simulated != "":
		return nil
	case len(c.Command) > 0 && c.URL != "":
		say("/url", "must not be set beside command: a server is a program or stands at an address")
	case len(c.Command) == 0 && c.URL == "":
		problems = append(problems, sdk.Problemf("", "the server is missing").WithDetail("write command: [PROGRAM, ARGUMENT], or url"))
	case len(c.Command) > 0 && c.Command[0] == "":
		say("/command/0", "must name a program")
	}
	if c.URL != "" {
		u, err := url.Parse(c.URL)
		switch {
		case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
			say("/url", "must be an address such as https://mcp.example.com/mcp")
		case u.User != nil:
			say("/url", "must hold no user: a token goes into token, token_from or headers")
		}
	} else if c.Token != "" || c.TokenFrom != nil || len(c.Headers) > 0 {
		problems = append(problems, sdk.Problemf("/command", "a program takes no token and no headers").WithDetail("give it what it needs in secret_env"))
	}
	for name := range c.Headers {
		if strings.EqualFold(name, "Host") || strings.HasPrefix(strings.ToLower(name), "mcp-") {
			say("/headers"+sdk.Pointer(name), "belongs to the protocol")
		}
	}
	return problems
}

package project

import (
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/quota"
	"github.com/flowrun/flowrun/engine/spec"
)

// sandboxWords are the values of `limits.sandbox`.
func sandboxWords() []string { return []string{"auto", "require", "off"} }

func (p *parser) limitsSandbox(n *spec.Node) {
	if n.Kind == spec.Scalar && slices.Contains(sandboxWords(), n.Text) {
		p.project.Limits.Sandbox = n.Text
		return
	}
	problem := p.problems.Errorf(n.Pos, CodeGrant, "`sandbox` is one of %s", strings.Join(sandboxWords(), ", "))
	problem.Hint = diag.DidYouMean(n.Text, sandboxWords())
}

// grants reads what a plugin is granted.
func (p *parser) grants(n *spec.Node, plugin *Plugin) {
	list := func(what string, into *[]string, valid func(string) string) func(*spec.Node) {
		return func(n *spec.Node) {
			*into = []string{}
			for _, item := range p.items(n, "`"+what+"`") {
				text := p.text(item, "`"+what+"`")
				if text == "" {
					continue
				}
				if wrong := valid(text); wrong != "" {
					p.problems.Errorf(item.Pos, CodeGrant, "`%s` can't be granted: %s", text, wrong)
					continue
				}
				*into = append(*into, text)
			}
		}
	}
	var paths []string
	p.keys(n, "`grants`", map[string]func(*spec.Node){
		"paths":    list("paths", &paths, noExpression),
		"hosts":    list("hosts", &plugin.Grants.Hosts, wrongHost),
		"env":      list("env", &plugin.Grants.Env, wrongName),
		"commands": list("commands", &plugin.Grants.Commands, noExpression),
		"memory": func(n *spec.Node) {
			if _, err := quota.ParseSize(n.Text); n.Kind != spec.Scalar || err != nil {
				p.problems.Errorf(n.Pos, CodeGrant, "`memory` must be a size").Hint = diag.Say("write it as 4GiB")
				return
			}
			plugin.Grants.Memory = n.Text
		},
	})
	for _, path := range paths {
		granted := PathGrant{Path: strings.TrimSuffix(strings.TrimSuffix(path, ":ro"), ":rw"), ReadOnly: strings.HasSuffix(path, ":ro")}
		plugin.Grants.Paths = append(plugin.Grants.Paths, granted)
	}
}

func noExpression(text string) string {
	if strings.Contains(text, "${{") {
		return "a grant takes no expressions"
	}
	return ""
}

// isVariable reports whether a text names a variable of the environment: letters, digits and
// _, no digit first.
func isVariable(text string) bool {
	small := strings.ToLower(text)
	return text != "" && (text[0] < '0' || text[0] > '9') && len(small) == len(text) && strings.Trim(small, "abcdefghijklmnopqrstuvwxyz0123456789_") == ""
}

func wrongName(name string) string {
	switch {
	case !isVariable(name):
		return "it is no name of a variable"
	case strings.HasPrefix(name, "FLOWRUN_"), strings.HasPrefix(name, "PLUGIN_"), name == "HOME", name == "TMPDIR":
		return "flowrun sets it itself, or keeps it to itself"
	}
	return ""
}

// wrongHost says what is wrong with "host", "host:port" or a URL.
func wrongHost(text string) string {
	host := text
	if strings.Contains(text, "://") {
		u, err := url.Parse(text)
		if err != nil || u.Host == "" || u.User != nil {
			return "it is no URL of a host"
		}
		host = u.Host
	}
	name, port, err := net.SplitHostPort(host)
	if err != nil {
		name, port = strings.Trim(host, "[]"), ""
	}
	if number, err := strconv.ParseUint(port, 10, 16); port != "" && (err != nil || number == 0) {
		return "its port is no number from 1 to 65535"
	}
	if name == "" || strings.ContainsAny(name, "*/@ ?#") || strings.Contains(name, ":") && net.ParseIP(name) == nil {
		return "a host is a name or an address, with or without a port; there are no wildcards"
	}
	return ""
}

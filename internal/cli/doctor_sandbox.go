package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/flowrun/flowrun/engine"
)

// sandboxHint says what has all parts of the sandbox.
const sandboxHint = "Linux 6.12 or newer holds all parts; `limits: {sandbox: require}` in " + projectFileName + " runs no plugin without"

// announceConfinement says once, at the start of a server, what plugins are not held to.
func (s *session) announceConfinement() {
	var missing []string
	for _, part := range s.owner.engine.Project().MissingConfinement() {
		missing = append(missing, part.Part)
	}
	if len(missing) > 0 {
		s.app.note("plugins are not held to: %s; `flowrun doctor` says why", strings.Join(missing, ", "))
	}
}

// checkSandbox tells part by part whether plugins are held to what they were given.
func (d *doctor) checkSandbox(context.Context) {
	const check = "plugin sandbox"
	if d.project == nil {
		return
	}
	if d.project.SandboxMode() == "off" {
		d.warn(check, "", "`limits.sandbox` is off: a plugin may do what its user may", "take it out of "+projectFileName)
		return
	}
	if err := d.project.CheckSandbox(); err != nil {
		d.fail(check, "", exitPlugin, err.Error(), hintOf(err))
	}
	var held []string
	for _, part := range d.project.Confinement() {
		if part.Held {
			held = append(held, part.Part)
			continue
		}
		if part.Watched {
			d.skip(part.Part, "", "not held: "+part.Why)
			continue
		}
		d.warn(check, part.Part, "not held: "+part.Why, sandboxHint)
	}
	if len(held) > 0 {
		d.ok(check, "", "held: %s", strings.Join(held, ", "))
	}
}

// checkGrants shows what plugins ask for and were not given, before somebody gives it.
func (d *doctor) checkGrants(ctx context.Context) {
	if d.project == nil || ctx.Err() != nil {
		return
	}
	for _, name := range d.project.PluginNames() {
		wants, granted, err := d.project.PluginGrants(name)
		if err != nil {
			continue // checkPlugins has said so
		}
		if !granted.Empty() {
			d.ok("grants", name, "%s", shownGrants(granted))
		}
		if lacking := lackingGrants(wants, granted); !lacking.Empty() {
			d.warn("grants", name, "it asks for more than it is given: "+shownGrants(lacking),
				fmt.Sprintf("see whether it should have it; then `plugins: {%s: {grants: %s}}` in %s", name, grantsYAML(lacking), projectFileName))
		}
	}
}

// lackingGrants is what a plugin asks for and does not have. Without granted hosts it
// may connect to all.
func lackingGrants(wants, granted engine.Grants) engine.Grants {
	missing := func(wanted, given []string) []string {
		return slices.DeleteFunc(slices.Clone(wanted), func(name string) bool { return slices.Contains(given, name) })
	}
	lacking := engine.Grants{Env: missing(wants.Env, granted.Env)}
	if granted.Hosts != nil {
		lacking.Hosts = missing(wants.Hosts, granted.Hosts)
	}
	return lacking
}

func shownGrants(g engine.Grants) string {
	var parts []string
	for _, part := range grantParts(g) {
		if len(part.values) > 0 {
			parts = append(parts, part.name+" "+strings.Join(part.values, ", "))
		}
	}
	return strings.Join(parts, "; ")
}

func grantsYAML(g engine.Grants) string {
	var parts []string
	for _, part := range grantParts(g) {
		if len(part.values) > 0 {
			parts = append(parts, part.name+": ["+strings.Join(part.values, ", ")+"]")
		}
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

type grantPart struct {
	name   string
	values []string
}

func grantParts(g engine.Grants) []grantPart {
	return []grantPart{{"paths", g.Paths}, {"hosts", g.Hosts}, {"env", g.Env}, {"commands", g.Commands}}
}

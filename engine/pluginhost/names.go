package pluginhost

import "fmt"

// maxName is how long the name of a plugin, an action or a limiter may be.
const maxName = 63

// wrongName says what is wrong with the name of an action or a limiter.
func wrongName(name string) string {
	switch {
	case name == "":
		return "it has no name"
	case len(name) > maxName:
		return fmt.Sprintf("the name has %d characters, at most %d are taken", len(name), maxName)
	}
	return "a name has lower-case letters, digits and _, a letter first"
}

// clipped is a name for a message.
func clipped(name string) string {
	if len(name) > maxName {
		return name[:maxName] + "…"
	}
	return name
}

package runs

import "strings"

// CorePlugin is the plugin name of the built-in actions.
const CorePlugin = "core"

// The built-in actions (docs/language.md, rule 20). The Machine runs them itself, but
// for CoreNotify, which leaves the engine, and CoreRead, which reads the store: the
// driver's caller does.
const (
	CoreLog     = "core.log"
	CoreFail    = "core.fail"
	CoreAssert  = "core.assert"
	CoreSleep   = "core.sleep"
	CoreApprove = "core.approve"
	CoreWait    = "core.wait"
	CoreNotify  = "core.notify"
	CoreRead    = "core.read"
)

// IsCore reports whether an action is a built-in one.
func IsCore(action string) bool { return strings.HasPrefix(action, CorePlugin+".") }

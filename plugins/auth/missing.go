package auth

import "github.com/flowrun/flowrun/sdk"

// lacks is the error of an action whose connection has not a setting that it
// needs. Nothing was sent.
func lacks(c *sdk.Call[Config], setting, why string) *sdk.Error {
	return sdk.Invalid("", "connection %s has no %s: %s", c.ConnectionName(), setting, why).
		WithHint("set %s in the config of connection %s in flowrun.yaml", setting, c.ConnectionName())
}

// loginRequired is the error that sends a person to the login.
func loginRequired(c *sdk.Call[Config], reason, format string, args ...any) *sdk.Error {
	return sdk.AuthRequired(format, args...).WithReason(reason).
		WithHint("log in with: flowrun connections login %s", c.ConnectionName())
}

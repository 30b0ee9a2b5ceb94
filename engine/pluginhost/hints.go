package pluginhost

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
)

// hintOf says what to do about a failure of which the plugin says nothing: what
// its kind alone tells.
func hintOf(f *runs.Error, connection string) string {
	if connection == "" {
		connection = "this step's connection"
	} else {
		connection = fmt.Sprintf("connection `%s`", connection)
	}
	switch f.Kind {
	case plan.KindRateLimited:
		return limitHint(f, connection)
	case plan.KindUnavailable:
		if f.HTTPStatus != 0 {
			return "the service has a problem of its own: try again later, or give the step more `retry`"
		}
		return "see whether the service can be reached: the URL and the proxy of " + connection + ", and the network"
	case plan.KindTimeout:
		return "give the step a longer `timeout`, or see why the service is slow"
	case plan.KindUnexpectedResponse:
		return "see that the URL of " + connection + " is the service's own, and that no proxy or login page answers in its place"
	case plan.KindUnauthorized:
		return "see that the credential of " + connection + " is right and has not run out"
	case plan.KindForbidden:
		return "the credential of " + connection + " may not do this: use another, or have it allowed in the service"
	case plan.KindNotFound:
		return "see that what `with` names is there, and that " + connection + " may see it"
	case plan.KindConflict:
		return "somebody changed it meanwhile: look it up in the service and try again"
	case plan.KindQuotaExhausted:
		return "the account's quota is used up: wait for the next period, or have it raised in the service"
	case plan.KindInvalid:
		return invalidHint(f)
	case plan.KindCrashed, plan.KindInternal:
		return "this is a fault of the plugin or of flowrun: the step's log has more, and `retry` may help meanwhile"
	}
	return ""
}

func limitHint(f *runs.Error, connection string) string {
	wait := "wait a little"
	if f.RetryAfterS > 0 {
		wait = "wait " + time.Duration(f.RetryAfterS*float64(time.Second)).Round(time.Second).String()
	}
	return wait + ", give the step more `retry`, or set a `rate` on " + connection + " so that flowrun keeps to the service's limit"
}

// invalidHint is for what the service refused; what was refused here says
// itself what is wrong.
func invalidHint(f *runs.Error) string {
	if f.HTTPStatus == 0 {
		return ""
	}
	return "the service refused the input: compare `with` with what it documents"
}

// withPlace adds the service and the action to the details, where they are not
// there yet.
func withPlace(details json.RawMessage, fullName string) json.RawMessage {
	plugin, action := splitAction(fullName)
	if plugin == "" {
		return details
	}
	fields := map[string]json.RawMessage{}
	if len(details) > 0 && json.Unmarshal(details, &fields) != nil {
		return details // no object
	}
	for name, text := range map[string]string{"service": plugin, "action": action} {
		if _, there := fields[name]; there || text == "" {
			continue
		}
		fields[name], _ = json.Marshal(text) // a text
	}
	placed, err := json.Marshal(fields)
	if err != nil {
		return details
	}
	return placed
}

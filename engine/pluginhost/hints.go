package pluginhost

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
)

// faultHint is for what no user can mend.
const faultHint = "this is a fault of the plugin or of flowrun: the step's log has more, and `retry` may help meanwhile"

// kindHints say what to do about failures of a kind. CONNECTION and WAIT stand for
// the name of the connection and for how long to wait.
var kindHints = map[plan.ErrorKind]string{
	plan.KindRateLimited:        "wait WAIT, give the step more `retry`, or set a `rate` on CONNECTION so that flowrun keeps to the service's limit",
	plan.KindUnavailable:        "see whether the service can be reached: the URL and the proxy of CONNECTION, and the network",
	plan.KindTimeout:            "give the step a longer `timeout`, or see why the service is slow",
	plan.KindUnexpectedResponse: "see that the URL of CONNECTION is the service's own, and that no proxy or login page answers in its place",
	plan.KindUnauthorized:       "see that the credential of CONNECTION is right and has not run out",
	plan.KindForbidden:          "the credential of CONNECTION may not do this: use another, or have it allowed in the service",
	plan.KindNotFound:           "see that what `with` names is there, and that CONNECTION may see it",
	plan.KindConflict:           "somebody changed it meanwhile: look it up in the service and try again",
	plan.KindQuotaExhausted:     "the account's quota is used up: wait for the next period, or have it raised in the service",
	plan.KindInvalid:            "the service refused the input: compare `with` with what it documents",
	plan.KindCrashed:            faultHint,
	plan.KindInternal:           faultHint,
}

// hintOf says what to do about a failure of which the plugin says nothing: what
// its kind alone tells.
func hintOf(f *runs.Error, connection string) string {
	hint, wait := kindHints[f.Kind], "a little"
	switch {
	case f.Kind == plan.KindUnavailable && f.HTTPStatus != 0:
		hint = "the service has a problem of its own: try again later, or give the step more `retry`"
	case f.Kind == plan.KindUnexpectedResponse && !askedByHTTP(f):
		hint = "the plugin answered otherwise than it declares: tell its author what was asked"
	case f.Kind == plan.KindInvalid && f.HTTPStatus == 0:
		return "" // what was refused here says itself what is wrong
	case f.RetryAfterS > 0:
		wait = time.Duration(f.RetryAfterS * float64(time.Second)).Round(time.Second).String()
	}
	name := "this step's connection"
	if connection != "" {
		name = fmt.Sprintf("connection `%s`", connection)
	}
	return strings.NewReplacer("CONNECTION", name, "WAIT", wait).Replace(hint)
}

// askedByHTTP reports whether the failure is of a request that a plugin sent: one of a
// plugin without HTTP has nothing to do with proxies.
func askedByHTTP(f *runs.Error) bool {
	var request struct {
		URL string `json:"url"`
	}
	return f.HTTPStatus != 0 || json.Unmarshal(f.Details, &request) == nil && request.URL != ""
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

package openapi

import (
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/flowrun/flowrun/plugins/internal/recipe"
	"github.com/flowrun/flowrun/sdk"
)

// Fault is a failure that an action may end with.
type Fault struct {
	Status int // that tells of it, 0 = none
	Code   sdk.Code
	Reason string
	Input  string // that it is about, "" = none
	Doc    string

	general bool // said by a rule: it stands for what any call may end with
}

// statusOf is the number of a documented status: 400 for 4XX, 0 for default.
func statusOf(status string) int {
	number, err := strconv.Atoi(strings.Replace(status, "XX", "00", 1))
	if err != nil {
		return 0
	}
	return number
}

func statusText(status int) string {
	return strings.TrimSpace(strconv.Itoa(status) + " " + http.StatusText(status))
}

// usualDoc says of a fault what its rule does not say.
func usualDoc(f FaultRule) string {
	switch {
	case f.Status != 0:
		return "The service says " + statusText(f.Status) + "."
	case f.Input != "":
		return "The service refuses `" + f.Input + "`."
	}
	return "The service says so."
}

// codes are the words of FaultRule.Code.
func codes() []sdk.Code {
	return []sdk.Code{
		sdk.CodeInvalid, sdk.CodeUnauthorized, sdk.CodeAuthRequired, sdk.CodeForbidden, sdk.CodeNotFound, sdk.CodeConflict, sdk.CodeRateLimited,
		sdk.CodeQuotaExhausted, sdk.CodeUnavailable, sdk.CodeTimeout, sdk.CodeUnsupported, sdk.CodeExpired,
		sdk.CodeUnexpectedResponse, sdk.CodeInternal,
	}
}

// codeOf is the code of a rule: as it says, else by its status.
func codeOf(f FaultRule) sdk.Code {
	for _, code := range codes() {
		if code.String() == f.Code {
			return code
		}
	}
	return sdk.CodeOfStatus(f.Status)
}

// declared are the faults that an action is described with: each code and reason once,
// with what all of them say. What any call may end with stands behind them, where nothing
// is said of it.
func declared(all []Fault) []Fault {
	all = slices.Clone(all)
	for _, usual := range []Fault{
		{Code: sdk.CodeUnavailable, Doc: "No connection, or the service failed (5xx)."},
		{Code: sdk.CodeUnexpectedResponse, Doc: "The answer breaks the service's document."},
	} {
		if !slices.ContainsFunc(all, func(f Fault) bool { return f.Code == usual.Code && f.general }) {
			all = append(all, usual)
		}
	}
	var once []Fault
	for _, f := range all {
		i := slices.IndexFunc(once, func(o Fault) bool { return o.Code == f.Code && o.Reason == f.Reason })
		switch {
		case i < 0:
			once = append(once, f)
		case !strings.Contains(once[i].Doc, f.Doc):
			once[i].Doc = sdk.Shown(once[i].Doc+" "+f.Doc, 400)
		}
	}
	return once
}

// recipeFaults are those that change what the status alone says. The reasons of a service
// that says them in its envelope are its own.
func recipeFaults(all []Fault, envelope *Envelope) []recipe.Fault {
	var changed []recipe.Fault
	for _, f := range all {
		if envelope != nil && envelope.Reason != "" {
			f.Reason = ""
		}
		if f.Input != "" || f.Status != 0 && (f.Reason != "" || f.Code != sdk.CodeOfStatus(f.Status)) {
			changed = append(changed, recipe.Fault{Status: f.Status, Code: f.Code, Reason: f.Reason, Input: f.Input})
		}
	}
	return changed
}

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
	Doc    string
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

// codes are the words of FaultRule.Code.
func codes() []sdk.Code {
	return []sdk.Code{
		sdk.CodeInvalid, sdk.CodeUnauthorized, sdk.CodeAuthRequired, sdk.CodeForbidden, sdk.CodeNotFound, sdk.CodeConflict, sdk.CodeRateLimited,
		sdk.CodeQuotaExhausted, sdk.CodeUnavailable, sdk.CodeTimeout, sdk.CodeUnsupported, sdk.CodeExpired,
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
// with what all of them say. What any call may end with stands behind them.
func declared(all []Fault) []Fault {
	all = append(slices.Clone(all),
		Fault{Code: sdk.CodeUnavailable, Doc: "No connection, or the service failed (5xx)."},
		Fault{Code: sdk.CodeUnexpectedResponse, Doc: "The answer breaks the service's document."})
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

// recipeFaults are those that change what the status alone says.
func recipeFaults(all []Fault) []recipe.Fault {
	var changed []recipe.Fault
	for _, f := range all {
		if f.Status != 0 && (f.Reason != "" || f.Code != sdk.CodeOfStatus(f.Status)) {
			changed = append(changed, recipe.Fault{Status: f.Status, Code: f.Code, Reason: f.Reason})
		}
	}
	return changed
}

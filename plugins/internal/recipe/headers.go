package recipe

import (
	"net/http"
	"slices"
	"strings"

	"github.com/flowrun/flowrun/sdk"
)

// IsSetByClient reports whether a header is one that the connection or the HTTP client
// sets: no input can be it.
func IsSetByClient(name string) bool {
	return slices.Contains([]string{
		"Accept", "Authorization", "Content-Type", "Content-Length", "Host", "Connection", "Transfer-Encoding", "Cookie", "Te", "Trailer", "Upgrade",
	}, http.CanonicalHeaderKey(name))
}

// CheckHeaders says which headers of a connection's config, at /headers, can't be sent.
func CheckHeaders(headers map[string]string) []sdk.Problem {
	var problems []sdk.Problem
	for name, value := range headers {
		at := sdk.Pointer("headers", name)
		switch {
		case !sdk.IsHeaderName(name):
			problems = append(problems, sdk.Problemf(at, "is no name of a header"))
		case IsSetByClient(name) && !strings.EqualFold(name, "authorization") && !strings.EqualFold(name, "accept"):
			problems = append(problems, sdk.Problemf(at, "is a header that the HTTP client sets"))
		case !sdk.IsHeaderValue(value):
			problems = append(problems, sdk.Problemf(at, "its value can't be sent: it has a line break or another control character"))
		}
	}
	slices.SortFunc(problems, func(a, b sdk.Problem) int { return strings.Compare(a.Pointer, b.Pointer) })
	return problems
}

package sdk

import (
	"regexp"
	"strings"
	"sync"
)

var traceparentGrammar = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^00-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}$`) })

// isTraceparent reports whether text is a W3C trace context of version 00:
// "00-TRACE ID-SPAN ID-FLAGS" in lower-case hex, the ids not all zero. What is
// not is not sent on: a service would drop it, or refuse the request.
func isTraceparent(text string) bool {
	ids := traceparentGrammar().FindStringSubmatch(text)
	return ids != nil && strings.Trim(ids[1], "0") != "" && strings.Trim(ids[2], "0") != ""
}

package mail

import (
	"net/textproto"
	"slices"
	"strings"

	"github.com/flowrun/flowrun/sdk"
)

// autoSubmitted is the header by which automatic mail says so: nobody's vacation answers
// it (RFC 3834).
const autoSubmitted = "Auto-Submitted"

// allowedHeaders are those that a step may set besides X-…: they say something about the
// message, and lead it nowhere.
func allowedHeaders() []string {
	return []string{
		autoSubmitted, "Comments", "Feedback-Id", "Importance", "Keywords", "List-Archive", "List-Help", "List-Id", "List-Owner", "List-Post",
		"List-Subscribe", "List-Unsubscribe", "List-Unsubscribe-Post", "Organization", "Precedence", "Priority", "Sensitivity",
	}
}

// headerName is the name of a header as it is sent, "" where a step may not set it.
func headerName(name string) string {
	canonical := textproto.CanonicalMIMEHeaderKey(name)
	if !sdk.IsHeaderName(name) || len(name) > 76 {
		return ""
	}
	if slices.Contains(allowedHeaders(), canonical) || strings.HasPrefix(canonical, "X-") && len(canonical) > 2 {
		return canonical
	}
	return ""
}

// header checks a header that a step sets.
func (c *checker) header(at, name, value string) {
	if headerName(name) == "" {
		c.problems = append(c.problems, sdk.Problemf(at, "may not be set").
			WithDetail("headers that begin with X- may, and %s; addresses, subject and thread have fields of their own", strings.Join(allowedHeaders(), ", ")))
		return
	}
	c.line(at, value)
}

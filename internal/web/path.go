package web

import (
	"net/url"
	"path"
	"strings"
)

// isPlain reports whether a path is clean, and escaped at most in the segments
// where a name may be any text: a step, a workflow, a schedule.
func isPlain(u *url.URL) bool {
	escaped := u.EscapedPath()
	if escaped != path.Clean(escaped) {
		return false
	}
	parts := strings.Split(escaped, "/")
	for i, part := range parts {
		if strings.Contains(part, "%") && !mayBeEscaped(parts, i) {
			return false
		}
	}
	return true
}

// mayBeEscaped reports whether segment i holds a name of any letters: those of
// /api/v1/runs/ID/steps/STEP/ACT, /api/v1/workflows/NAME…,
// /api/v1/schedules/ID/… and /hooks/WORKFLOW/TRIGGER.
func mayBeEscaped(parts []string, i int) bool {
	switch {
	case len(parts) == 8 && i == 6:
		return parts[3] == "runs" && parts[5] == "steps"
	case i == 4:
		return parts[3] == "workflows" || parts[3] == "schedules"
	case i == 5:
		return parts[3] == "schedules" && len(parts) == 7
	case i == 2 || i == 3:
		return parts[1] == "hooks" && len(parts) == 4
	}
	return false
}

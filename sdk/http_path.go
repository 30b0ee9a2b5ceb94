package sdk

import (
	"net/url"
	"strings"
)

// PathEscape escapes one segment of a path. It refuses "", "." and "..",
// which would lead to another resource; the error is CodeInvalid with
// NotApplied and no pointer.
func PathEscape(segment string) (string, error) {
	switch segment {
	case "":
		return "", Invalid("", "must not be empty")
	case ".", "..":
		return "", Invalid("", "must not be %q", segment)
	}
	return url.PathEscape(segment), nil
}

// Path joins segments to a path, each escaped: Path("whois", domain). It
// refuses what PathEscape refuses.
func Path(segments ...string) (string, error) {
	var path strings.Builder
	for _, segment := range segments {
		escaped, err := PathEscape(segment)
		if err != nil {
			return "", err
		}
		path.WriteString("/" + escaped)
	}
	return path.String(), nil
}

// hasDotSegment reports whether an escaped path climbs: "." or ".." as a
// segment, escaped or not.
func hasDotSegment(path string) bool {
	for _, segment := range strings.Split(path, "/") {
		if text, err := url.PathUnescape(segment); err == nil && (text == "." || text == "..") {
			return true
		}
	}
	return false
}

// resolve joins the base URL and an escaped path. The result never leaves the
// base's host or climbs out of its path.
func resolve(base, path string, query url.Values) (*url.URL, error) {
	if base == "" {
		return nil, Errorf(CodeInternal, "the config has no base_url to send %q to", path)
	}
	if strings.ContainsAny(path, "?#\\") || hasDotSegment(path) {
		return nil, Errorf(CodeInternal, "path %q holds ?, #, \\ or a dot segment: escape its segments and put the query aside", path)
	}
	if path != "" && !strings.HasPrefix(path, "/") {
		path = "/" + path
	}
	root, err := url.Parse(base)
	if err != nil {
		return nil, Errorf(CodeInvalid, "base_url is no URL")
	}
	target, err := url.Parse(base + path)
	if err != nil || target.Host != root.Host || target.User != nil {
		return nil, Errorf(CodeInternal, "path %q is not escaped", path)
	}
	target.RawQuery = query.Encode()
	return target, nil
}

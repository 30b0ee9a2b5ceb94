package importer

import (
	"net/url"
	"strings"
)

// request is a call of a service over HTTP.
type request struct {
	method         string
	url            template
	body           template
	headers, query *value
}

// request makes s a call of the plugin http. Its origin becomes a connection; one that is
// not written out is a gap.
func (w *workflow) request(s *step, line int, r request) {
	method := strings.ToLower(r.method)
	if method == "" {
		method = "get"
	}
	action, ok := map[string]string{"get": "get", "head": "head", "put": "put", "delete": "delete", "post": "post", "patch": "patch"}[method]
	if !ok {
		w.gap(s, line, "method: %s: http.get, head, put, delete, post and patch are the actions", method)
		action = "get"
	}
	for _, gap := range append(r.url.gaps, r.body.gaps...) {
		w.gap(s, line, "%s", gap)
	}
	base, path := w.origin(s, line, r.url)
	connection := w.client(base)
	path, inPath := cutQuery(path)
	r.query.pairs = append(inPath, r.query.pairs...)
	with := mapping(field("path", text(path)))
	if len(r.query.pairs) > 0 {
		with.add("query", r.query)
	}
	if len(r.headers.pairs) > 0 {
		if strings.Contains(r.headers.shown(), "secrets.") || strings.Contains(strings.ToLower(r.headers.shown()), "authorization") {
			w.gap(s, line, "headers: a credential belongs to the connection: token, basic or api_key: docs/services/http.md")
		}
		with.add("headers", r.headers)
	}
	if body := r.body; action != "get" && action != "head" && action != "delete" && (!body.literal() || body.parts[0].text != "") {
		with.add("text", text(body.text()))
	}
	w.gap(s, line, "the service %s is the connection `%s`: declare it in flowrun.yaml, as at the end of this file", base, connection)
	s.add("uses", text("http."+action)).add("connection", text(connection)).add("with", with)
}

// cutQuery takes the query off a path, where it is names with values.
func cutQuery(path string) (string, []pair) {
	before, query, ok := strings.Cut(path, "?")
	if !ok || strings.Contains(before, "${{") {
		return path, nil
	}
	var pairs []pair
	for one := range strings.SplitSeq(query, "&") {
		name, value, ok := strings.Cut(one, "=")
		if !ok || !plainText().MatchString(name) || strings.Contains(name, " ") {
			return path, nil
		}
		if inner, ok := strings.CutPrefix(value, "${{ run."); ok && isExpression(value) {
			value = "${{ string(run." + strings.TrimSuffix(inner, " }}") + ") }}" // it may be a time
		}
		pairs = append(pairs, field(name, text(value)))
	}
	return before, pairs
}

// origin cuts a URL into what a connection holds and the path of the step.
func (w *workflow) origin(s *step, line int, t template) (base, path string) {
	first := ""
	if !t.parts[0].isExpr {
		first = t.parts[0].text
	}
	parsed, err := url.Parse(first)
	if scheme := strings.Index(first, "://"); err == nil && parsed.Host != "" && scheme > 0 && plainText().MatchString(strings.NewReplacer(":", "", "//", "").Replace(first[:scheme+3]+parsed.Host)) {
		rest := first[scheme+3:]
		host, path, slash := strings.Cut(rest, "/")
		if slash || len(t.parts) == 1 {
			t.parts[0].text = "/" + path
			return first[:scheme+3] + strings.TrimRight(host, "?#"), t.render()
		}
	}
	w.gap(s, line, "the URL %s: its host stands in a connection of flowrun.yaml, as base_url", t.render())
	return "https://service.example", "/"
}

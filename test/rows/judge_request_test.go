package rows

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// judgeRequests compares the requests with those of the case.
func judgeRequests(a *act) []string {
	var want []request
	for _, c := range a.calls {
		want = append(want, c.sends...)
	}
	var wrong []string
	for i, r := range want {
		if i >= len(a.seen.requests) {
			wrong = append(wrong, fmt.Sprintf("request %d was not sent: %s", i+1, r.line))
			continue
		}
		for _, problem := range a.judgeRequest(r, a.seen.requests[i]) {
			wrong = append(wrong, fmt.Sprintf("request %d: %s", i+1, problem))
		}
	}
	for _, extra := range a.seen.requests[min(len(want), len(a.seen.requests)):] {
		wrong = append(wrong, "one more request was sent: "+extra.line)
	}
	return wrong
}

func (a *act) judgeRequest(want request, got seen) []string {
	var wrong []string
	expand := func(text string) string {
		out, err := a.names.expand(text)
		if err != nil {
			wrong = append(wrong, err.Error())
		}
		return out
	}
	if line := expand(want.line); line != got.line {
		wrong = append(wrong, fmt.Sprintf("it is %s, expected was %s", got.line, line))
	}
	for _, h := range want.headers {
		value, there := got.header(h[0])
		if expected := expand(h[1]); !there || value != expected {
			wrong = append(wrong, fmt.Sprintf("header %s is %q, expected was %q", h[0], value, expected))
		}
	}
	for _, name := range want.absent {
		if value, there := got.header(name); there {
			wrong = append(wrong, fmt.Sprintf("header %s is there: %q", name, value))
		}
	}
	if want.exactly != nil {
		var names []string
		for _, h := range got.headers {
			names = append(names, strings.ToLower(h[0]))
		}
		slices.Sort(names)
		expected := strings.Split(strings.ToLower(strings.Join(want.exactly, ",")), ",")
		slices.Sort(expected)
		if !slices.Equal(names, expected) {
			wrong = append(wrong, fmt.Sprintf("the headers are %v, expected was %v", names, expected))
		}
	}
	if want.secure && !got.secure {
		wrong = append(wrong, "it came without TLS")
	}
	if want.body != nil {
		wrong = append(wrong, a.judgeBody(expand(*want.body), got)...)
	} else if got.body != "" {
		wrong = append(wrong, fmt.Sprintf("it has a body that nobody expected: %q", got.body))
	}
	return wrong
}

// judgeBody compares bodies to the byte; forms as sets of fields, written
// `form a=b|c=d`, and JSON as values, written `json {...}`.
func (a *act) judgeBody(want string, got seen) []string {
	if value, isJSON := strings.CutPrefix(want, "json "); isJSON {
		return a.differences("its body", decoded(value), decoded(got.body))
	}
	if form, isForm := strings.CutPrefix(want, "form"); isForm {
		fields, err := url.ParseQuery(got.body)
		if err != nil {
			return []string{"its body is no form: " + got.body}
		}
		var have []string
		for name, values := range fields {
			for _, value := range values {
				have = append(have, name+"="+value)
			}
		}
		expected := strings.Split(strings.TrimSpace(form), "|")
		slices.Sort(have)
		slices.Sort(expected)
		if !slices.Equal(have, expected) {
			return []string{fmt.Sprintf("the form is %q, expected was %q", have, expected)}
		}
		return nil
	}
	if want != got.body {
		return []string{fmt.Sprintf("its body is %q, expected was %q", got.body, want)}
	}
	return nil
}

// leaks looks for secrets in all that was printed.
func leaks(a *act) []string {
	var wrong []string
	for name, value := range secrets {
		if len(value) < 6 {
			continue
		}
		for _, form := range []string{value, url.QueryEscape(value), url.PathEscape(value)} {
			if strings.Contains(a.seen.text, form) {
				wrong = append(wrong, "the secret "+name+" was printed: "+shorten(a.seen.text))
				break
			}
		}
	}
	if strings.Contains(a.seen.text, leak) {
		wrong = append(wrong, "a token of the service was printed: "+shorten(a.seen.text))
	}
	return wrong
}

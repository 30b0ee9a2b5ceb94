package sdk

import (
	"strings"
)

// ByLink finds the next page by a link to it: a field at the top of the page, or
// with "" the Link header with rel="next" (RFC 8288). The cursor is the link,
// made absolute: the action sends it as Request.URL. See NextLink for where it
// may lead.
func ByLink(field string) NextPage { return byLink(field) }

type byLink string

func (field byLink) next(page *readPage) (string, error) {
	if field == "" {
		return NextLink(page.response, linkTo(page.response.Header.Values("Link"), "next"))
	}
	link, err := page.text(string(field))
	if err != nil {
		return "", err
	}
	return NextLink(page.response, link)
}

// LinkTo is the target of a relation, such as "next", in the Link headers of an answer
// (RFC 8288), as it is written there: "" for none. NextLink makes it one to follow.
func LinkTo(r *Response, relation string) string { return linkTo(r.Header.Values("Link"), relation) }

// NextLink makes a link of an answer absolute: "" stays "". It must lead to the
// origin (scheme, host and port) that the answer came from, for the connection's
// credential goes where it leads; another one is CodeUnexpectedResponse.
func NextLink(r *Response, link string) (string, error) {
	if link == "" {
		return "", nil
	}
	target, err := r.url.Parse(link)
	if err != nil || target.User != nil || target.Host == "" {
		return "", r.Fail(CodeUnexpectedResponse, "the link to the next page can't be read")
	}
	there, ok := originOf(target)
	here, _ := originOf(r.url)
	leads := target.Scheme + "://" + target.Host
	if ok {
		leads = there.String()
	}
	if !ok || there != here {
		return "", r.Fail(CodeUnexpectedResponse, "the link to the next page leads to %s, and the answer came from %s", r.Shown(leads, 128), here).
			WithHint("the connection's credential would go there; check base_url")
	}
	target.Fragment, target.RawFragment = "", ""
	return target.String(), nil
}

// linkTo returns the target of a relation out of Link headers, "" for none.
func linkTo(headers []string, relation string) string {
	for _, header := range headers {
		for rest := header; ; {
			_, after, ok := strings.Cut(rest, "<")
			if !ok {
				break
			}
			target, parameters, closed := strings.Cut(after, ">")
			if !closed {
				break
			}
			end := endOfLink(parameters)
			if hasRelation(parameters[:end], relation) {
				return target
			}
			rest = parameters[end:]
		}
	}
	return ""
}

// endOfLink is where the parameters of one link end: at a comma outside of
// quotes.
func endOfLink(parameters string) int { return unquotedIndex(parameters, ',') }

// unquotedIndex is where a sign stands outside of quotes, else the text's length.
func unquotedIndex(text string, sign byte) int {
	quoted := false
	for i := 0; i < len(text); i++ {
		switch {
		case quoted && text[i] == '\\':
			i++
		case text[i] == '"':
			quoted = !quoted
		case text[i] == sign && !quoted:
			return i
		}
	}
	return len(text)
}

// hasRelation looks for a relation in the first `rel` of a link's parameters.
func hasRelation(parameters, relation string) bool {
	for parameters != "" {
		end := unquotedIndex(parameters, ';')
		parameter := parameters[:end]
		parameters = parameters[min(end+1, len(parameters)):]
		name, value, _ := strings.Cut(parameter, "=")
		if !strings.EqualFold(strings.TrimSpace(name), "rel") {
			continue
		}
		for _, word := range strings.Fields(strings.Trim(strings.TrimSpace(value), `"`)) {
			if strings.EqualFold(word, relation) {
				return true
			}
		}
		return false
	}
	return false
}

package sdk

import (
	"encoding/json"
	"html"
	"mime"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
)

// Bounds of what a message repeats of an answer, in bytes.
const (
	maxWords = 300     // the service's own words
	maxPlain = 200     // the start of a body that has none
	maxRead  = 8 << 10 // how much of a page is read for it
)

// bodyWords is what a service says about a failure.
type bodyWords struct{ message, reason string }

// words reads what a service says about a failure: the usual forms of an error in
// JSON, else the start of a text or a page.
func (r *Response) words() bodyWords {
	words := r.jsonWords()
	if words.message == "" {
		words.message = r.plainWords()
	}
	return words
}

// Words returns the service's own words about a failure where the body has one of
// the usual forms of an error in JSON, "" elsewhere: {"error": "..."}, {"error":
// {"message", "code"}}, {"errors": [...]}, {"message"}, RFC 9457 and OAuth. They are
// masked, on one line, and bounded.
func (r *Response) Words() (message, reason string) {
	words := r.jsonWords()
	return words.message, words.reason
}

func (r *Response) jsonWords() bodyWords {
	var document any
	if json.Unmarshal(r.Body, &document) != nil {
		return bodyWords{}
	}
	if list, isList := document.([]any); isList && len(list) > 0 {
		document = list[0] // of texts it is none of an error's usual forms
	}
	if _, isObject := document.(map[string]any); !isObject {
		return bodyWords{}
	}
	var words bodyWords
	for _, object := range errorObjects(document, 0) {
		if words.message == "" {
			words.message = r.Shown(messageOf(object), maxWords)
		}
		if words.reason == "" {
			words.reason = r.Shown(reasonOf(object), 64)
		}
	}
	return words
}

// errorObjects are the objects of a document that may describe its error, the
// most exact one first. A text stands for an object with a message.
func errorObjects(document any, depth int) []map[string]any {
	const deepest = 4
	if depth > deepest {
		return nil
	}
	switch typed := document.(type) {
	case string:
		return []map[string]any{{"message": typed}}
	case []any:
		if len(typed) == 0 {
			return nil
		}
		return errorObjects(typed[0], depth+1)
	case map[string]any:
		var all []map[string]any
		for _, name := range []string{"error", "errors"} {
			switch inner := typed[name].(type) {
			case map[string]any, []any:
				all = append(all, errorObjects(inner, depth+1)...)
			case string:
				if name == "errors" {
					all = append(all, errorObjects(inner, depth+1)...)
				}
			}
		}
		return append(all, typed)
	}
	return nil
}

// messageOf reads the text for people of an error object.
func messageOf(object map[string]any) string {
	text := func(name string) string {
		value, _ := object[name].(string)
		return strings.TrimSpace(value)
	}
	title, detail := text("title"), text("detail")
	if title != "" && detail != "" && !strings.Contains(detail, title) && text("message") == "" && text("error_description") == "" {
		return title + ": " + detail // RFC 9457
	}
	for _, name := range []string{"message", "error_description", "error_message", "detail", "title", "error"} {
		if found := text(name); found != "" {
			return found
		}
	}
	return fieldMessage(object)
}

// fieldMessage reads {"email": ["is taken"]}, where each value is a list of texts.
func fieldMessage(object map[string]any) string {
	names := make([]string, 0, len(object))
	for name, value := range object {
		list, isList := value.([]any)
		if !isList || len(list) == 0 {
			return ""
		}
		if _, isText := list[0].(string); !isText {
			return ""
		}
		names = append(names, name)
	}
	if len(names) == 0 {
		return ""
	}
	name := slices.Min(names)
	message, _ := object[name].([]any)[0].(string)
	return name + ": " + message
}

// reasonOf reads the machine's word of an error object.
func reasonOf(object map[string]any) string {
	for _, name := range []string{"error_code", "scimType", "code", "error", "type"} {
		text, ok := object[name].(string)
		if ok && text != "" && len(text) <= 64 && !strings.ContainsAny(text, " /\n") {
			return text
		}
	}
	return ""
}

var (
	hiddenParts = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?is)<!--.*?(-->|$)|<(script|style|head)\b.*?(</(script|style|head)\s*>|$)`)
	})
	titlePart = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?is)<title[^>]*>(.*?)</title>`) })
	tagPart   = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?s)<[!/?a-zA-Z][^>]*(>|$)`) })
)

// plainWords is the start of a body that is no JSON error: a text, or what a page
// shows. It is masked before and after the page's marks are taken out, for marks
// and entities may stand inside a secret. JSON is left to those who know its form.
func (r *Response) plainWords() string {
	if len(r.Body) == 0 || r.core == nil {
		return ""
	}
	mediaType, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	isText := mediaType == "" || strings.HasPrefix(mediaType, "text/") || strings.HasSuffix(mediaType, "xml")
	if !isText || !utf8.Valid(r.Body) {
		return ""
	}
	start := strings.TrimSpace(r.core.masks.now().start(string(r.Body), maxRead))
	if strings.HasPrefix(start, "{") || strings.HasPrefix(start, "[") {
		return "" // JSON whose form nobody knows: any of its members may be a new credential
	}
	if strings.HasSuffix(mediaType, "html") || strings.HasPrefix(strings.ToLower(strings.TrimSpace(start)), "<!doctype html") {
		start = pageText(start)
	}
	return r.Shown(strings.Join(strings.Fields(start), " "), maxPlain)
}

// pageText is what a page of HTML shows: its title and its text.
func pageText(page string) string {
	title := ""
	if m := titlePart().FindStringSubmatch(page); m != nil {
		title = m[1]
	}
	text := tagPart().ReplaceAllString(hiddenParts().ReplaceAllString(page, " "), " ")
	title, text = strings.TrimSpace(html.UnescapeString(title)), strings.TrimSpace(html.UnescapeString(text))
	if title == "" || strings.HasPrefix(text, title) {
		return text
	}
	return title + ": " + text
}

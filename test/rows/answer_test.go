package rows

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// answer is what the service sends, byte for byte.
type answer struct {
	raw     bool   // the bytes stand in text as they are
	text    string // with \r \n \t \\ \xHH, and {{...}}
	status  int
	options map[string]string
	headers [][2]string
	end     string // reset, close: no answer; hang: never one; "" = the connection ends after the answer
}

// parseAnswer reads `raw`, `close`, `reset`, `hang`, or `STATUS [options] body`.
func parseAnswer(value string) (answer, error) {
	switch value {
	case "raw":
		return answer{raw: true}, nil
	case "close", "reset", "hang":
		return answer{end: value}, nil
	}
	status, rest, _ := strings.Cut(value, " ")
	code, err := strconv.Atoi(status)
	if err != nil {
		return answer{}, fmt.Errorf("%q is no answer", value)
	}
	a := answer{status: code, options: map[string]string{}}
	if options.MatchString(rest) {
		list, body, found := strings.Cut(rest[1:], "]")
		if !found {
			return a, errors.New("the options have no end: ]")
		}
		rest = strings.TrimPrefix(body, " ")
		for _, option := range strings.Split(list, ", ") {
			name, text, _ := strings.Cut(option, " ")
			if !slices.Contains(answerOptions, name) {
				return a, fmt.Errorf("an answer has no option %q", name)
			}
			a.options[name] = text
		}
	}
	a.text = rest
	return a, nil
}

// options matches the beginning of options, which no list of JSON has.
var options = regexp.MustCompile(`^\[(` + strings.Join(answerOptions, "|") + `)[ \],]`)

// answerOptions change the bytes of an answer: README.md has each.
var answerOptions = []string{"json", "html", "text", "type", "notype", "cut", "chunked", "unfinished", "length", "nolength", "reason", "gzip", "none", "version", "keep"}

// add goes on with an answer: a header, or raw bytes.
func (a *answer) add(word, value string) error {
	switch {
	case word == "<<" && a.raw:
		a.text += value
	case word == "<h" && !a.raw:
		name, text, found := strings.Cut(value, ": ")
		if !found {
			return fmt.Errorf("%q is no header", value)
		}
		a.headers = append(slices.Clone(a.headers), [2]string{name, text})
	default:
		return fmt.Errorf("%s does not fit the answer", word)
	}
	return nil
}

// bytes are what goes over the wire. names are what {{...}} stands for.
func (a answer) bytes(names macros) ([]byte, error) {
	text, err := names.expand(a.text)
	if err != nil {
		return nil, err
	}
	body := unescaped(text)
	if a.raw {
		return body, nil
	}
	return a.framed(body, names)
}

func (a answer) has(option string) bool { _, is := a.options[option]; return is }

// framed writes status line and headers around a body.
func (a answer) framed(body []byte, names macros) ([]byte, error) {
	if a.has("gzip") {
		body = zipped(body)
	}
	var out bytes.Buffer
	reason, version := http.StatusText(a.status), "HTTP/1.1"
	if a.has("reason") {
		reason = a.options["reason"]
	}
	if a.has("version") {
		version = a.options["version"]
	}
	fmt.Fprintf(&out, "%s %d %s\r\n", version, a.status, reason)
	if kind := a.contentType(); kind != "" {
		fmt.Fprintf(&out, "Content-Type: %s\r\n", kind)
	}
	for _, h := range a.headers {
		value, err := names.expand(h[1])
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&out, "%s: %s\r\n", h[0], unescaped(value))
	}
	if a.has("gzip") {
		out.WriteString("Content-Encoding: gzip\r\n")
	}
	if !a.has("keep") {
		out.WriteString("Connection: close\r\n")
	}
	return a.withBody(&out, body)
}

// withBody writes how long the body is, and the body or what is left of it.
func (a answer) withBody(out *bytes.Buffer, body []byte) ([]byte, error) {
	number := func(option string) (int, error) {
		n, err := strconv.Atoi(a.options[option])
		if err != nil {
			return 0, fmt.Errorf("option %s: %w", option, err)
		}
		return n, nil
	}
	switch {
	case a.has("chunked"):
		size, err := number("chunked")
		if err != nil {
			return nil, err
		}
		out.WriteString("Transfer-Encoding: chunked\r\n\r\n")
		for chunk := range slices.Chunk(body, size) {
			fmt.Fprintf(out, "%x\r\n%s\r\n", len(chunk), chunk)
		}
		if !a.has("unfinished") {
			out.WriteString("0\r\n\r\n")
		}
		return out.Bytes(), nil
	case a.has("nolength"):
		out.WriteString("\r\n")
	case a.has("length"):
		fmt.Fprintf(out, "Content-Length: %s\r\n\r\n", a.options["length"])
	case a.status == http.StatusNoContent || a.status == http.StatusNotModified:
		out.WriteString("\r\n")
	default:
		fmt.Fprintf(out, "Content-Length: %d\r\n\r\n", len(body))
	}
	if a.has("cut") {
		keep, err := number("cut")
		if err != nil || keep > len(body) {
			return nil, fmt.Errorf("cut %d of %d bytes: %w", keep, len(body), err)
		}
		body = body[:keep]
	}
	out.Write(body)
	return out.Bytes(), nil
}

// contentType is that of the options; a body without any is JSON.
func (a answer) contentType() string {
	switch {
	case a.has("type"):
		return a.options["type"]
	case a.has("html"):
		return "text/html; charset=utf-8"
	case a.has("text"):
		return "text/plain; charset=utf-8"
	case a.has("notype"), a.has("none"), a.text == "" && !a.has("json"):
		return ""
	}
	return "application/json"
}

func zipped(body []byte) []byte {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, _ = w.Write(body) // into memory
	_ = w.Close()
	return out.Bytes()
}

var escape = regexp.MustCompile(`\\(r|n|t|\\|x[0-9a-fA-F]{2})`)

// unescaped takes \r, \n, \t, \\ and \xHH for what they stand for. In bodies of
// JSON a backslash before anything else stays, and \n in a text is written \\n.
func unescaped(text string) []byte {
	return []byte(escape.ReplaceAllStringFunc(text, func(found string) string {
		switch found[1] {
		case 'r':
			return "\r"
		case 'n':
			return "\n"
		case 't':
			return "\t"
		case '\\':
			return "\\"
		}
		n, _ := strconv.ParseUint(found[2:], 16, 8) // two digits of hex
		return string([]byte{byte(n)})
	}))
}

// macros are what {{...}} stands for in one case.
type macros struct {
	values map[string]string
	now    func() time.Time
}

var macro = regexp.MustCompile(`\{\{(?:rep [0-9]+ .*?,?|[^{}]*)\}\}`)

// expand writes the text with what its {{...}} stand for.
func (m macros) expand(text string) (string, error) {
	var failed error
	out := macro.ReplaceAllStringFunc(text, func(found string) string {
		words := strings.SplitN(found[2:len(found)-2], " ", 3)
		switch {
		case words[0] == "rep" && len(words) == 3:
			n, err := strconv.Atoi(words[1])
			if err != nil {
				failed = fmt.Errorf("%s: %w", found, err)
			}
			return strings.Repeat(words[2], n)
		case words[0] == "time" && len(words) >= 2:
			d, err := time.ParseDuration(words[1])
			if err != nil {
				failed = fmt.Errorf("%s: %w", found, err)
			}
			layout := time.RFC3339
			if len(words) == 3 {
				layout = words[2]
			}
			return m.now().Add(d).UTC().Format(layout)
		}
		value, known := m.values[found[2:len(found)-2]]
		if !known {
			failed = fmt.Errorf("%s stands for nothing", found)
		}
		return value
	})
	return out, failed
}

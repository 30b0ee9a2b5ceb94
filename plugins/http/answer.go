package http

import (
	"bytes"
	"encoding/base64"
	"mime"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/flowrun/flowrun/sdk"
)

// output is what every action gives.
type output struct {
	Status    int                 `json:"status"`
	OK        bool                `json:"ok"`
	Kind      string              `json:"kind"`
	Headers   map[string]string   `json:"headers"`
	Repeated  map[string][]string `json:"repeated"`
	Body      sdk.Value           `json:"body"`
	ErrorBody sdk.Value           `json:"error_body"`
	Blob      *sdk.Blob           `json:"blob,omitempty"`
	URL       string              `json:"url"`
}

// pagedOutput is what http.get gives: items and next_cursor with `pages` alone.
type pagedOutput struct {
	output
	Items      sdk.Value `json:"items,omitempty"`
	NextCursor sdk.Value `json:"next_cursor,omitempty"`
}

// The kinds of a body.
const (
	kindJSON  = "json"
	kindText  = "text"
	kindCSV   = "csv"
	kindBytes = "bytes"
	kindBlob  = "blob"
	kindNone  = "none"
	kindAuto  = "auto"
)

var null = sdk.Value("null")

// bounds puts into a request what is known of its answer. What the step or the connection
// says that it accepts stays.
func (how reading) bounds(request *sdk.Request, connection map[string]string) {
	request.MaxBody, request.Exact = how.MaxBody, how.As == kindBytes
	own := request.Header.Get("Accept") != ""
	for name := range connection {
		own = own || strings.EqualFold(name, "Accept")
	}
	usual := map[string]string{
		kindAuto: "application/json, */*;q=0.5", kindCSV: "text/csv, */*;q=0.5", kindText: "*/*", kindBytes: "*/*", kindBlob: "*/*", kindNone: "*/*",
	}[how.As]
	if !own && usual != "" {
		request.Header.Set("Accept", usual)
	}
}

// read makes an output of an answer. Its errors are about the answer: of a write that the
// service has said was done, the effect is known.
func (how reading) read(r *sdk.Response) (output, error) {
	out := output{Status: r.Status, OK: fine(r.Status), Kind: kindNone, Body: null, ErrorBody: null, URL: r.URL()}
	out.readHeaders(r)
	if !out.OK {
		_, out.ErrorBody = loosely(r)
		return out, nil
	}
	var err error
	out.Kind, out.Body, err = how.readBody(r)
	return out, err
}

// readHeaders takes the headers over, without those that set cookies: they are
// credentials, and nobody sends them back.
func (o *output) readHeaders(r *sdk.Response) {
	o.Headers, o.Repeated = map[string]string{}, map[string][]string{}
	for name, values := range r.Header {
		if name = strings.ToLower(name); name == "set-cookie" || name == "set-cookie2" {
			continue
		}
		values = slices.Clone(values)
		for i := range values {
			values[i] = strings.ToValidUTF8(values[i], "\uFFFD")
		}
		o.Headers[name] = strings.Join(values, ", ")
		if len(values) > 1 {
			o.Repeated[name] = values
		}
	}
}

// readBody reads the body of a good answer.
func (how reading) readBody(r *sdk.Response) (kind string, body sdk.Value, err error) {
	switch how.kind(r) {
	case kindNone:
		return kindNone, null, nil
	case kindJSON:
		return how.readJSON(r)
	case kindCSV:
		return how.readCSV(r)
	case kindText:
		content, err := decoded(r)
		if err != nil {
			return "", nil, answeredAll(err)
		}
		return kindText, sdk.Text(content), nil
	}
	return kindBytes, sdk.Text(base64.StdEncoding.EncodeToString(r.Body)), nil
}

// kind is how a body is read: as the step says, else as the answer says of itself.
func (how reading) kind(r *sdk.Response) string {
	switch {
	case how.As != kindAuto && how.As != "":
		return how.As
	case how.Answer != nil:
		return kindJSON
	case len(r.Body) == 0:
		return kindNone
	case isJSON(mediaType(r)):
		return kindJSON
	}
	if _, err := decoded(r); err != nil {
		return kindBytes
	}
	return kindText
}

// answeredAll says of an error about a whole answer of success that what was sent has
// happened.
func answeredAll(err error) error {
	if failure, is := isFailure(err); is {
		failure.Applied = sdk.AppliedFully
	}
	return err
}

// readJSON reads a document. An empty body is null, where `answer` has nothing against it.
func (how reading) readJSON(r *sdk.Response) (kind string, body sdk.Value, err error) {
	empty := len(bytes.TrimSpace(r.Body)) == 0
	if empty && (how.Answer == nil || how.shape.Takes("null")) {
		return kindNone, null, nil
	}
	document, err := r.Document()
	if err != nil {
		return "", nil, withWayOut(err, how.As)
	}
	if how.Answer == nil {
		return kindJSON, document, nil
	}
	if problems := how.shape.CheckAnswer(document); len(problems) > 0 {
		return "", nil, misfit(r, "/body", problems[0], len(problems))
	}
	return kindJSON, document, nil
}

// withWayOut says how to take an answer that is no JSON.
func withWayOut(err error, as string) error {
	failure, is := isFailure(err)
	if is && failure.Hint == "" {
		failure.Hint = "write `as: text`, or `as: none`, if the service answers so"
		if as == kindAuto {
			failure.Hint = "the answer says that it is JSON; write `as: text` to take it as it is"
		}
	}
	return err
}

// misfit is the failure of an answer that breaks `answer`. The service has answered, so
// that what was sent has happened.
func misfit(r *sdk.Response, at string, problem sdk.Problem, count int) error {
	more := ""
	if count > 1 {
		more = ", and more is wrong besides"
	}
	failure := r.Fail(sdk.CodeUnexpectedResponse, "the answer breaks `answer`: %s %s%s", at+problem.Pointer, problem.Summary, more)
	failure.Applied = sdk.AppliedFully
	failure.Details["output_pointer"] = at + problem.Pointer
	return failure
}

// loosely reads the body of an answer that is expected and no success: a document, a
// text, or null for what is neither.
func loosely(r *sdk.Response) (kind string, body sdk.Value) {
	if len(bytes.TrimSpace(r.Body)) == 0 {
		return kindNone, null
	}
	if r.DocumentProblem() == "" && (isJSON(mediaType(r)) || mediaType(r) == "") {
		return kindJSON, r.Body
	}
	if content, err := decoded(r); err == nil {
		return kindText, sdk.Text(content)
	}
	return kindNone, null
}

func mediaType(r *sdk.Response) string {
	media, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	return strings.ToLower(media)
}

func isJSON(media string) bool {
	return media == "application/json" || media == "text/json" || strings.HasSuffix(media, "+json")
}

// decoded is the body as text, in the charset that its Content-Type names.
func decoded(r *sdk.Response) (string, error) {
	_, parameters, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	charset := strings.ToLower(parameters["charset"])
	var content string
	switch charset {
	case "", "utf-8", "utf8", "us-ascii", "ascii":
		content = string(r.Body)
	case "iso-8859-1", "latin1", "windows-1252", "cp1252":
		content = fromWestern(r.Body)
	default:
		return "", r.Fail(sdk.CodeUnexpectedResponse, "the text is in the charset %s, which is not known", r.Shown(charset, 64)).
			WithHint("read it with `as: bytes`")
	}
	if !utf8.ValidString(content) {
		return "", r.Fail(sdk.CodeUnexpectedResponse, "the answer is no text in UTF-8").WithHint("read it with `as: bytes`")
	}
	return content, nil
}

// western are the signs of windows-1252 that are not those of Unicode at the same place.
// Browsers read ISO 8859-1 as it too.
var western = [32]rune{
	'€', 0x81, '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', 0x8d, 'Ž', 0x8f,
	0x90, '‘', '’', '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', 0x9d, 'ž', 'Ÿ',
}

func fromWestern(body []byte) string {
	var out strings.Builder
	for _, b := range body {
		if b >= 0x80 && b < 0xa0 {
			out.WriteRune(western[b-0x80])
			continue
		}
		out.WriteRune(rune(b))
	}
	return out.String()
}

// Package recipe calls an action of an HTTP service by a recipe: how the request is made
// of the input, and how the output is made of the answer. A recipe is plain data with a
// form in JSON, so that the plugin that runs a step needs nothing else: whoever describes
// a service, by a document or in Go, makes recipes of it.
package recipe

import (
	"encoding/json"
	"fmt"
	"regexp"
	"sync"

	"github.com/flowrun/flowrun/sdk"
)

// Recipe is how one action is called.
type Recipe struct {
	Method string  `json:"method"`
	Path   string  `json:"path"`           // below base_url, with {name} for parameters of the path
	Base   *Base   `json:"base,omitempty"` // nil = base_url
	Params []Param `json:"params,omitempty"`
	Body   *Body   `json:"body,omitempty"`   // nil = none is sent
	Accept string  `json:"accept,omitempty"` // media types that the answer may have; "" = JSON

	Security []Requirement `json:"security,omitempty"` // one of them is met; none = what the connection has is sent
	Key      string        `json:"key,omitempty"`      // header that carries the idempotency key of a keyed action

	Answers  []Answer  `json:"answers,omitempty"` // by status; none = JSON, or null where there is no body
	Envelope *Envelope `json:"envelope,omitempty"`
	Faults   []Fault   `json:"faults,omitempty"`
	Page     *Page     `json:"page,omitempty"` // nil = the action has no pages

	Refuse []Refusal `json:"refuse,omitempty"` // what is refused before anything is sent
	Fill   []Fill    `json:"fill,omitempty"`   // members of the output that the service leaves out
	Join   []string  `json:"join,omitempty"`   // members of the output that are objects of texts, each of which may come as a list
	Only   []string  `json:"only,omitempty"`   // members of the answer that are the output; none = all

	once     sync.Once
	patterns []*regexp.Regexp // of Refuse; nil = it can't be read
}

// Base is another root than base_url that an operation has.
type Base struct {
	URL string `json:"url"`
	// Of is the base_url that the document gives. A connection with another one, such
	// as a simulator, gets these requests too.
	Of string `json:"of"`
}

// Where a parameter goes.
const (
	InPath   = "path"
	InQuery  = "query"
	InHeader = "header"
	InCookie = "cookie"
)

// Param is a parameter of the request.
type Param struct {
	Input    string          `json:"input"`              // member of the input that it is taken from
	Name     string          `json:"name"`               // as the service calls it
	In       string          `json:"in"`                 // InPath, InQuery, InHeader or InCookie
	Style    string          `json:"style,omitempty"`    // as in OpenAPI; "" = the default of the place
	Explode  bool            `json:"explode,omitempty"`  // of lists and objects
	Segments bool            `json:"segments,omitempty"` // a slash in it parts segments of the path
	JSON     bool            `json:"json,omitempty"`     // sent as a JSON text
	Fixed    json.RawMessage `json:"fixed,omitempty"`    // sent where the input has none
	As       string          `json:"as,omitempty"`       // form that a text is sent in: AsUpper, AsLower, AsAddress or AsHost; "" = as it is
}

// The forms in which a text is sent.
const (
	AsUpper   = "upper"   // in capitals
	AsLower   = "lower"   // in small letters
	AsAddress = "address" // an IP address as it is written canonically
	AsHost    = "host"    // a domain name without a dot behind it
)

// The forms of a body.
const (
	BodyJSON      = "json"
	BodyForm      = "form"
	BodyMultipart = "multipart"
	BodyText      = "text"
	BodyBytes     = "bytes" // Base64 in the input
)

// Body is the body of the request, which is made of one member of the input.
type Body struct {
	Input string `json:"input"`           // member of the input; "" = of all that Members names
	Kind  string `json:"kind"`            // BodyJSON, BodyForm, BodyMultipart, BodyText or BodyBytes
	Media string `json:"media,omitempty"` // "" = that of the kind

	Members []string            `json:"members,omitempty"` // of the input, where they make an object
	Parts   map[string]PartKind `json:"parts,omitempty"`   // of a form or multipart, by member
}

// PartKind is how a member of a form or multipart body is sent.
type PartKind struct {
	File    bool   `json:"file,omitempty"`    // an object with name, text or base64, and type
	Media   string `json:"media,omitempty"`   // of a part of multipart
	Style   string `json:"style,omitempty"`   // of a form, as a parameter of the query
	Explode bool   `json:"explode,omitempty"` // of a form: one pair for each element
}

// The forms of an answer.
const (
	AnswerJSON  = "json"
	AnswerText  = "text"
	AnswerBytes = "bytes" // Base64 in the output
	AnswerNone  = "none"  // null
	AnswerAny   = "any"   // JSON, a text, or null where there is no body: nothing is documented
)

// Answer is what an answer of a status holds.
type Answer struct {
	Status string `json:"status"` // "200", "2XX" or "default"
	Kind   string `json:"kind"`   // AnswerJSON, AnswerText, AnswerBytes, AnswerNone or AnswerAny
}

// Fault is what a failure means: by its status, or by its code alone.
type Fault struct {
	Status int      `json:"status,omitempty"` // 0 = any that has the code
	Code   sdk.Code `json:"code"`
	Reason string   `json:"reason,omitempty"` // "" = the service's own word
	Input  string   `json:"input,omitempty"`  // member of the input that it is about
}

// Fill is a member of the output that a service leaves null where others have an empty
// list or object.
type Fill struct {
	Member string          `json:"member"`
	Value  json.RawMessage `json:"value"`            // in the place of null
	Absent bool            `json:"absent,omitempty"` // where there is none, too
}

// Envelope is the object that a service wraps its answers in. The texts are JSON
// Pointers into the answer.
type Envelope struct {
	Mark    string          `json:"mark,omitempty"`    // member that all answers of the service have
	OK      string          `json:"ok,omitempty"`      // where it says whether it succeeded
	Is      json.RawMessage `json:"is,omitempty"`      // what stands there then; none = true
	Status  string          `json:"status,omitempty"`  // where a status stands that counts in place of HTTP's
	Data    string          `json:"data,omitempty"`    // the output; "" = the whole answer
	Message string          `json:"message,omitempty"` // the service's text in a failure
	Reason  string          `json:"reason,omitempty"`  // the service's word in a failure
	Filled  bool            `json:"filled,omitempty"`  // Data of a success is never null
}

// How the next page is found.
const (
	NextLink   = "link"   // the Link header, or a link in the answer
	NextCursor = "cursor" // a cursor in the answer
	NextNumber = "number" // the number of the page
	NextOffset = "offset" // the index of the first item
)

// Page says where an action has its pages. Input, and the members of the answer that
// Items names, are those of the action's paging.
type Page struct {
	Kind  string `json:"kind"`            // NextLink, NextCursor, NextNumber or NextOffset
	Input string `json:"input"`           // member of the input that names a page
	Items string `json:"items,omitempty"` // member of the output with the items; "" = the output is the list
	Next  string `json:"next,omitempty"`  // JSON Pointer of the cursor or link in the answer; "" = the Link header
	More  string `json:"more,omitempty"`  // JSON Pointer of a boolean that is false on the last page
	Last  string `json:"last,omitempty"`  // cursor is this member of the last item, where More is true
	Size  string `json:"size,omitempty"`  // member of the input with how many items a page has
	Full  int64  `json:"full,omitempty"`  // how many it has where the input does not say; 0 = not known
	From  int64  `json:"from,omitempty"`  // number of the first page

	ListInput string `json:"list_input,omitempty"` // member of the input that may name the list of the items
	End       int    `json:"end,omitempty"`        // status that says of a later page that there is none
	// Wrap makes the output an object of items, next_cursor and the page itself under this
	// name, for services that don't say what their pages look like: the only list of a page
	// is its items. "" = the output is what the service gives.
	Wrap string `json:"wrap,omitempty"`
}

// Encode returns the form of the recipe that Decode reads.
func (r *Recipe) Encode() ([]byte, error) { return json.Marshal(r) }

// Decode reads a recipe.
func Decode(text []byte) (*Recipe, error) {
	var r Recipe
	if err := json.Unmarshal(text, &r); err != nil {
		return nil, fmt.Errorf("read the action's recipe: %w", err)
	}
	return &r, nil
}

// Call is a call of an action: what *sdk.Call has, whatever the plugin's config is.
type Call interface {
	HTTP() *sdk.HTTPClient
	Log() *sdk.Log
	ConnectionName() string
	PageCursor() string
	Next(cursor string)
	AllPages() bool
	ReadPage(r *sdk.Response, shape sdk.PageShape) (sdk.Page, error)
	CursorRefused(err error) error
}

// With is what a recipe needs of the connection and of the call besides.
type With struct {
	Credentials Credentials
	BaseURL     string            // of the connection
	Headers     map[string]string // of the connection, sent with every request
}

// Reply is what came of a request that succeeded.
type Reply struct {
	Output   sdk.Value
	Response *sdk.Response // for errors about it; nil = the last page was read before
}

// Do makes one request by the recipe and returns the output. Its error is an *sdk.Error.
func Do(c Call, r *Recipe, with With, input sdk.Value) (sdk.Value, error) {
	reply, err := Ask(c, r, with, input)
	return reply.Output, err
}

// Ask is Do with the response beside the output.
func Ask(c Call, r *Recipe, with With, input sdk.Value) (Reply, error) {
	request, err := r.request(c, with, input)
	if err != nil {
		return Reply{}, sdk.NotSent(err)
	}
	client, err := r.client(c, with, request)
	if err != nil {
		return Reply{}, sdk.NotSent(err)
	}
	request.Classify = r.classify
	response, err := client.Do(request)
	if err != nil && r.Page != nil {
		if r.Page.isPast(c, err) {
			return Reply{Output: r.Page.none()}, nil
		}
		if r.Page.Kind == NextLink || r.Page.Kind == NextCursor { // a number does not expire
			err = c.CursorRefused(err)
		}
	}
	if err != nil {
		return Reply{}, err
	}
	output, err := r.output(c, response, input)
	return Reply{Output: output, Response: response}, err
}

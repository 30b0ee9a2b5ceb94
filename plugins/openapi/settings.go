package openapi

import "github.com/flowrun/flowrun/sdk"

// Settings are what a project says of a service: `with` of its plugin.
type Settings struct {
	Document string            `json:"document" min:"1" format:"project-file" doc:"OpenAPI document (3.0 or 3.1, JSON or YAML), or a description of the service (api: 1)" example:"./github.json"`
	Overlay  string            `json:"overlay,omitempty" format:"project-file" doc:"OpenAPI Overlay 1.0 that mends the document" example:"./github.overlay.yaml"`
	Only     []string          `json:"only,omitempty" doc:"Operations to take, by operationId, name, path, METHOD path or tag:NAME; * stands for anything"`
	Except   []string          `json:"except,omitempty" doc:"Operations to leave out, as in only"`
	Server   string            `json:"server,omitempty" doc:"Server of the document to take: its place from 0, its description, or a URL of your own"`
	Vars     map[string]string `json:"variables,omitempty" doc:"Variables of the server's URL"`
	Auth     []AuthSetting     `json:"auth,omitempty" doc:"How the service wants credentials, in place of what the document says"`
	Limits   map[string]Limit  `json:"limits,omitempty" doc:"Limits of the service by name"`
	Check    *Check            `json:"check,omitempty" doc:"A harmless read that tries a connection"`
	Rules    []Rule            `json:"rules,omitempty" doc:"What the document does not say of operations; of two the later one counts"`
}

// Check is the read that tries a connection.
type Check struct {
	Operation string `json:"operation" min:"1" doc:"The operation, as in only; it needs no input"`
	Account   string `json:"account,omitempty" doc:"JSON Pointer into its output to whose account it is" example:"/login"`
}

// AuthSetting is a credential that the service takes.
type AuthSetting struct {
	Kind   string `json:"kind" enum:"bearer,basic,api_key,client_credentials,none" doc:"What it is"`
	Name   string `json:"name,omitempty" doc:"Of an API key: the header, parameter or cookie that carries it"`
	In     string `json:"in,omitempty" enum:"header,query,cookie" doc:"Of an API key: where it goes; header by default"`
	Token  string `json:"token_url,omitempty" doc:"Of client credentials: where tokens are got"`
	Scopes string `json:"scopes,omitempty" doc:"Of client credentials: scopes to ask for, with blanks between them"`
}

// Limit is a rate limit of the service.
type Limit struct {
	Requests   int    `json:"requests,omitempty" min:"1" doc:"How many in a window"`
	Per        string `json:"per,omitempty" format:"duration" doc:"Length of the window" example:"1m"`
	Fixed      bool   `json:"fixed,omitempty" doc:"The service counts anew in each window, so that all may be sent at once"`
	Concurrent int    `json:"concurrent,omitempty" min:"1" doc:"How many at the same time"`
}

// Rule says what a document does not say of some operations.
type Rule struct {
	For []string `json:"for,omitempty" doc:"Operations, as in only; all when it is absent"`
	Extension
}

// Extension is what can be said of an operation besides OpenAPI: by a rule of the
// settings, by the words x-flowrun-NAME of the operation, and in a description.
type Extension struct {
	Name      string      `json:"name,omitempty" pattern:"^[a-z][a-z0-9_]{0,62}$" doc:"Name of the action"`
	Doc       string      `json:"doc,omitempty" doc:"What the action does, in a sentence or two"`
	Effect    string      `json:"effect,omitempty" enum:"read,idempotent,keyed,once" doc:"What a second call would do"`
	KeyHeader string      `json:"key_header,omitempty" doc:"Header that carries the idempotency key; Idempotency-Key by default"`
	Limits    []string    `json:"limits,omitempty" doc:"Limits that each call counts in; all of the settings when it is absent"`
	Timeout   string      `json:"timeout,omitempty" format:"duration" doc:"How long a call may take"`
	Paging    *PagingRule `json:"paging,omitempty" doc:"How pages follow each other"`
	Envelope  *Envelope   `json:"envelope,omitempty" doc:"Object that the service wraps its answers in"`
	Faults    []FaultRule `json:"faults,omitempty" doc:"What failures mean"`

	Refuse   []RefuseRule  `json:"refuse,omitempty" doc:"Texts of inputs that are refused before anything is sent"`
	Fill     []FillRule    `json:"fill,omitempty" doc:"Members of the answer that the service leaves null where others have an empty list or object"`
	Join     []string      `json:"join,omitempty" doc:"Members of the answer that are objects of texts, each of which may come as a list: they are joined with commas"`
	Only     []string      `json:"only,omitempty" doc:"Members of the answer that are the output; all when it is absent"`
	Examples []ExampleRule `json:"examples,omitempty" doc:"Inputs with what they may give; both must fit their schemas"`
}

// RefuseRule refuses a text of an input in words that help.
type RefuseRule struct {
	Input string `json:"input" min:"1" doc:"The input"`
	If    string `json:"if,omitempty" doc:"Regular expression that is found in what is refused"`
	Not   string `json:"not,omitempty" enum:"address" doc:"Refuses what is none: an IP address"`
	Say   string `json:"say" min:"1" doc:"What is wrong: {match} is what was found, {length} how many characters that has" example:"must not be {match}"`
	Hint  string `json:"hint,omitempty" doc:"What to do, with the same words"`
}

// FillRule is a member of the answer that stands for null.
type FillRule struct {
	Member string    `json:"member" min:"1" doc:"Name of the member"`
	Value  sdk.Value `json:"value" doc:"What stands there in place of null"`
	Absent bool      `json:"absent,omitempty" doc:"Also where the answer has no such member"`
}

// ExampleRule is an input with what it may give.
type ExampleRule struct {
	Name   string    `json:"name" min:"1" doc:"What it shows"`
	Input  sdk.Value `json:"input" doc:"The inputs"`
	Output sdk.Value `json:"output,omitempty" doc:"What they may give"`
}

// PagingRule says how pages follow each other.
type PagingRule struct {
	Next  string `json:"next" enum:"link,cursor,number,offset,none" doc:"By a link to the next page, a cursor, the number of the page or the index of its first item; none = there are no pages"`
	Input string `json:"input,omitempty" doc:"Input that names a page, such as page or cursor"`
	Items string `json:"items,omitempty" doc:"Member of the answer with the items, where it is no list itself"`
	At    string `json:"at,omitempty" doc:"JSON Pointer of the cursor or link in the answer; without it a link is in the Link header"`
	More  string `json:"more,omitempty" doc:"JSON Pointer of a boolean in the answer that is true where there is another page"`
	Last  string `json:"last,omitempty" doc:"The cursor is this member of the last item"`
	Size  string `json:"size,omitempty" doc:"Input with how many items a page has"`
	Full  int64  `json:"full,omitempty" min:"1" doc:"How many items a page has where the input does not say"`
	From  *int64 `json:"from,omitempty" min:"0" doc:"Number of the first page; 1 by default"`
	End   int    `json:"end,omitempty" min:"400" max:"599" doc:"Status that says of a later page that there is none"`
	Wrap  string `json:"wrap,omitempty" doc:"Makes the output an object of items, next_cursor and, under this name, the page: the only list of a page is its items"`
	List  string `json:"list_input,omitempty" doc:"With wrap: input that may name the list of the items"`
	Named string `json:"named_by,omitempty" doc:"Field that tells items apart, such as id; - = the same item may come again"`
}

// Envelope is the object that a service wraps its answers in; places are JSON Pointers.
type Envelope struct {
	Mark    string    `json:"mark,omitempty" doc:"Member that all answers of the service have: one without it is not the service's"`
	OK      string    `json:"ok,omitempty" doc:"Where it says whether it succeeded"`
	Is      sdk.Value `json:"is,omitempty" doc:"What stands there then; true by default"`
	Status  string    `json:"status,omitempty" doc:"Where a status stands that counts in place of HTTP's"`
	Data    string    `json:"data,omitempty" doc:"The output"`
	Message string    `json:"message,omitempty" doc:"The service's text in a failure"`
	Reason  string    `json:"reason,omitempty" doc:"The service's word in a failure"`
	Filled  bool      `json:"filled,omitempty" doc:"The output of a success is never null"`
}

// FaultRule says what a failure means: by its status, or by its code alone.
type FaultRule struct {
	Status int    `json:"status,omitempty" min:"400" max:"599" doc:"HTTP status; any with the code when it is absent"`
	Code   string `json:"code,omitempty" enum:"invalid,unauthorized,auth_required,forbidden,not_found,conflict,rate_limited,quota_exhausted,unavailable,timeout,unsupported,expired,unexpected_response,internal" doc:"What it is; by the status when it is absent"`
	Input  string `json:"input,omitempty" doc:"Input that it is about"`
	Reason string `json:"reason,omitempty" doc:"Word that tells it from others"`
	Doc    string `json:"doc,omitempty" doc:"When it happens"`
}

// over returns the extension with what another says over it.
func (e Extension) over(more Extension) Extension {
	if more.Name != "" {
		e.Name = more.Name
	}
	if more.Doc != "" {
		e.Doc = more.Doc
	}
	if more.Effect != "" {
		e.Effect, e.KeyHeader = more.Effect, more.KeyHeader
	} else if more.KeyHeader != "" {
		e.KeyHeader = more.KeyHeader
	}
	if more.Limits != nil {
		e.Limits = more.Limits
	}
	if more.Timeout != "" {
		e.Timeout = more.Timeout
	}
	if more.Paging != nil {
		e.Paging = more.Paging
	}
	if more.Envelope != nil {
		e.Envelope = more.Envelope
	}
	if more.Faults != nil {
		e.Faults = more.Faults
	}
	if more.Refuse != nil {
		e.Refuse = more.Refuse
	}
	if more.Fill != nil {
		e.Fill = more.Fill
	}
	if more.Join != nil {
		e.Join = more.Join
	}
	if more.Only != nil {
		e.Only = more.Only
	}
	if more.Examples != nil {
		e.Examples = more.Examples
	}
	return e
}

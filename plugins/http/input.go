package http

import (
	"github.com/flowrun/flowrun/sdk"
)

// target is where a request goes, and what is expected of the answer's status.
type target struct {
	Path      string               `json:"path"`
	URL       string               `json:"url"`
	Params    map[string]sdk.Value `json:"params"`
	Query     map[string]sdk.Value `json:"query"`
	Lists     string               `json:"lists"`
	Headers   map[string]sdk.Value `json:"headers"`
	Secrets   secrets              `json:"secrets"`
	Expect    []sdk.Value          `json:"expect"`
	Redirects bool                 `json:"redirects"`
}

// secrets are the parts of a request that are masked.
type secrets struct {
	Headers map[string]string `json:"headers"`
	Query   map[string]string `json:"query"`
	Params  map[string]string `json:"params"`
	Form    map[string]string `json:"form"`
	JSON    map[string]string `json:"json"`
}

// reading says how an answer is read.
type reading struct {
	As      string    `json:"as"`
	Answer  sdk.Value `json:"answer"`
	CSV     *csvForm  `json:"csv"`
	MaxBody int64     `json:"max_body"`
	Digest  string    `json:"digest"`

	shape shape // Answer, read
}

// csvForm says how a CSV is written.
type csvForm struct {
	Separator string   `json:"separator"`
	Columns   []string `json:"columns"`
	Comment   string   `json:"comment"`
}

// body is what a request sends: at most one of its forms.
type body struct {
	JSON        sdk.Value            `json:"json"`
	Form        map[string]sdk.Value `json:"form"`
	Multipart   []part               `json:"multipart"`
	Text        *string              `json:"text"`
	Base64      *string              `json:"base64"`
	Blob        *sdk.Blob            `json:"blob"`
	ContentType string               `json:"content_type"`
}

// part is one part of a multipart body.
type part struct {
	Name        string    `json:"name"`
	Text        *string   `json:"text"`
	JSON        sdk.Value `json:"json"`
	Base64      *string   `json:"base64"`
	Blob        *sdk.Blob `json:"blob"`
	Filename    string    `json:"filename"`
	ContentType string    `json:"content_type"`
}

// headInput is the input of http.head.
type headInput struct{ target }

// getInput is the input of http.get.
type getInput struct {
	target
	reading
	Pages  *pages  `json:"pages"`
	Cursor *string `json:"cursor"`
}

// writeInput is the input of the actions that send something.
type writeInput struct {
	target
	reading
	body
}

// keyedInput is the input of http.post_keyed.
type keyedInput struct {
	writeInput
	KeyHeader string `json:"key_header"`
}

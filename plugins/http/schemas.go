package http

import (
	"strings"

	"github.com/flowrun/flowrun/sdk"
)

// The schemas are written out: values of several types, and inputs that several actions
// share, are more than the tags of a struct say.

// targetFields are what every request has.
const targetFields = `
"path": {"type": "string", "pattern": "^/", "description": "Path below base_url, escaped as in a URL. {name} is filled in from params and escaped, {+name} keeps its slashes."},
"url": {"type": "string", "pattern": "^[hH][tT][tT][pP][sS]?://", "description": "Absolute URL instead of path, at a host that the connection allows. Credentials go with it to the origin of base_url alone."},
"params": {"type": "object", "additionalProperties": {"type": ["string", "integer", "number", "boolean"]}, "description": "Values for {name} in path."},
"query": {"type": "object", "additionalProperties": {"type": ["string", "integer", "number", "boolean", "null", "array"], "items": {"type": ["string", "integer", "number", "boolean"]}}, "description": "Parameters of the query. null leaves one out, a list is sent as lists says."},
"lists": {"type": "string", "enum": ["repeat", "comma", "brackets"], "default": "repeat", "description": "How a list is sent: a=1&a=2, a=1,2 or a[]=1&a[]=2."},
"headers": {"type": "object", "additionalProperties": {"type": ["string", "integer", "number", "boolean", "null"]}, "description": "Headers of this request. null leaves one out."},
"expect": {"type": "array", "items": {"type": ["integer", "string"]}, "description": "Statuses besides 2xx that are answers and no failures: 404, or 4xx for all of them. Their body stands in error_body."}`

// secretFields are the values that may be secrets.
func secretFields(places ...string) string {
	docs := map[string]string{
		"headers": "Headers.", "query": "Parameters of the query.", "params": "Values for {name} in path.",
		"form": "Fields of the form.", "json": "Values of the JSON body, by the JSON Pointer of where they belong: /user/password.",
	}
	var fields []string
	for _, place := range places {
		fields = append(fields, `"`+place+`": {"type": "object", "additionalProperties": {"type": "string", "writeOnly": true}, "description": "`+docs[place]+`"}`)
	}
	return `
"secrets": {"type": "object", "additionalProperties": false, "properties": {` + strings.Join(fields, ", ") + `}, "description": "Parts of the request that are secrets: they are masked everywhere."}`
}

// answerFields say how an answer is read.
const answerFields = `
"as": {"type": "string", "enum": ["auto", "json", "text", "csv", "bytes", "blob", "none"], "default": "auto", "description": "How the body is read. auto: JSON where the answer says so or answer is given, else text, else bytes (base64). blob: a large value of any size, in the output blob. none: it is not kept."},
"digest": {"type": "string", "pattern": "^sha256:[0-9a-f]{64}$", "description": "What the content must be, with as: blob; another one fails."},
"answer": {"anyOf": [{"type": "object"}, {"type": "string", "format": "project-file"}], "description": "JSON Schema of the body, or of a row of a CSV, or a file with it: types the output, and an answer that breaks it fails."},
"csv": {"type": "object", "additionalProperties": false, "properties": {
  "separator": {"type": "string", "minLength": 1, "maxLength": 1, "description": "Between two cells; , where it is not given."},
  "columns": {"type": "array", "items": {"type": "string", "minLength": 1}, "minItems": 1, "description": "Names of the columns, for a CSV whose first line is no header."},
  "comment": {"type": "string", "minLength": 1, "maxLength": 1, "description": "Lines that begin with it are left out."}
}, "description": "How a CSV is written."},
"max_body": {"type": "integer", "minimum": 1, "maximum": 67108864, "default": 8388608, "description": "Most bytes of the body; a larger one fails. A large value (as: blob) has no bound here."},
"redirects": {"type": "boolean", "default": true, "description": "Follow redirects of reads, to hosts that the connection allows. Without it the answer is the redirect itself: name its status in expect."}`

// pageFields are those of an action that reads lists.
const pageFields = `
"pages": {"type": "object", "additionalProperties": false, "required": ["by"], "properties": {
  "by": {"type": "string", "enum": ["link", "cursor", "offset", "page"], "description": "What leads to the next page: a link, a cursor of the answer, the index of its first item, or its number."},
  "items": {"type": "string", "description": "JSON Pointer of the list in the body; the body itself where it is not given."},
  "next": {"type": "string", "description": "JSON Pointer of the cursor, or of the link; without it a link is read from the header Link (rel=next)."},
  "query": {"type": "string", "minLength": 1, "description": "Parameter of the query that takes the cursor, the index or the number."},
  "size": {"type": "integer", "minimum": 1, "description": "Items to ask for on one page."},
  "size_query": {"type": "string", "minLength": 1, "description": "Parameter of the query that takes size."},
  "first": {"type": "integer", "minimum": 0, "description": "Number of the first page, 1 where it is not given; index of the first item, 0."},
  "total": {"type": "string", "description": "JSON Pointer of how many items there are in all: the reading ends with the last of them."},
  "more": {"type": "string", "description": "JSON Pointer of a boolean that says whether there is another page."},
  "named_by": {"type": "string", "minLength": 1, "description": "Field that tells items apart, such as id; - where equal items are right and each counts. Without it an item is the same as another as a whole."}
}, "description": "How a list is read page by page, with paginate or one page at a time."},
"cursor": {"type": ["string", "null"], "description": "Page to begin at: a next_cursor of before."}`

// bodyFields are those of a request that sends something.
const bodyFields = `
"json": {"description": "Body as JSON."},
"form": {"type": "object", "additionalProperties": {"type": ["string", "integer", "number", "boolean", "null", "array"], "items": {"type": ["string", "integer", "number", "boolean"]}}, "description": "Body as a form, application/x-www-form-urlencoded."},
"multipart": {"type": "array", "minItems": 1, "items": {"type": "object", "additionalProperties": false, "required": ["name"], "properties": {
  "name": {"type": "string", "minLength": 1, "description": "Name of the field."},
  "text": {"type": "string", "description": "Its value."},
  "json": {"description": "Its value as JSON."},
  "base64": {"type": "string", "description": "Its value as bytes, in base64."},
  "blob": {"type": "object", "x-flowrun-blob": true, "description": "Its value as a large value; its name and media type are those of the part where it has none of its own."},
  "filename": {"type": "string", "minLength": 1, "description": "Name of the file that it is."},
  "content_type": {"type": "string", "minLength": 1, "description": "Media type of the part."}
}}, "description": "Body in parts, multipart/form-data. A part has text, json, base64 or blob."},
"text": {"type": "string", "description": "Body as text, UTF-8."},
"base64": {"type": "string", "description": "Body as bytes, in base64."},
"blob": {"type": "object", "x-flowrun-blob": true, "description": "Body as a large value that another step gave; it is sent part by part."},
"content_type": {"type": "string", "minLength": 1, "description": "Media type of text, base64, json and blob: text/plain; charset=utf-8, application/octet-stream, application/json and the large value's own where it is not given."}`

const keyFields = `
"key_header": {"type": "string", "minLength": 1, "description": "Header that carries the idempotency key, where it is another than the connection's key_header."}`

func object(fields ...string) sdk.Value {
	return sdk.Value(`{"type": "object", "additionalProperties": false, "properties": {` + strings.Join(fields, ",") + `}}`)
}

func getSchema() sdk.Value {
	return object(targetFields, secretFields("headers", "query", "params"), answerFields, pageFields)
}

func headSchema() sdk.Value {
	return object(targetFields, secretFields("headers", "query", "params"), `
"redirects": {"type": "boolean", "default": true, "description": "Follow redirects, to hosts that the connection allows."}`)
}

func writeSchema() sdk.Value {
	return object(targetFields, secretFields("headers", "query", "params", "form", "json"), bodyFields, writeAnswerFields())
}

func keyedSchema() sdk.Value {
	return object(targetFields, secretFields("headers", "query", "params", "form", "json"), bodyFields, keyFields, writeAnswerFields())
}

// writeAnswerFields are answerFields without redirects, which are never followed by a
// request that sends something.
func writeAnswerFields() string {
	fields, _, _ := strings.Cut(answerFields, `,
"redirects"`)
	return fields
}

// What an output is made of; the body's schema stands between.
const (
	outputHead = `"status": {"type": "integer", "default": 200, "description": "Status of the answer."},
"ok": {"type": "boolean", "default": true, "description": "Whether it is within 200 and 299."},
"kind": {"type": "string", "enum": ["json", "text", "csv", "bytes", "blob", "none"], "default": "json", "description": "How body was read."},
"headers": {"type": "object", "additionalProperties": {"type": "string"}, "default": {}, "description": "Headers of the answer, names in lower case; one that came several times is joined by commas. Cookies are left out."},
"repeated": {"type": "object", "additionalProperties": {"type": "array", "items": {"type": "string"}}, "default": {}, "description": "The values of headers that came several times, one by one."},
"error_body": {"default": null, "description": "Body of an answer that is expected and not ok, as JSON or text; else null."},
"url": {"type": "string", "default": "", "description": "Where the answer came from, after redirects; values that may be secret are masked."}`
	anyBlob  = `{"default": null, "anyOf": [{"type": "object", "x-flowrun-blob": true}, {"type": "null"}], "description": "Body of the answer as a large value, with as: blob; else null."}`
	isBlob   = `{"type": "object", "x-flowrun-blob": true, "description": "Body of the answer, a large value."}`
	noBlob   = `{"type": "null", "default": null, "description": "Body of the answer as a large value, with as: blob alone."}`
	anyBody  = `{"default": null, "description": "Body of the answer, as it was asked for; null where it is empty or the answer is not ok."}`
	required = `"required": ["status", "ok", "kind", "headers", "repeated", "body", "error_body", "url"`
	cursorOf = `"next_cursor": {"type": ["string", "null"], "description": "Cursor of the next page, null for the last; with pages alone."}`
	anyItems = `{"type": "array", "description": "Items of the page, with pages alone."}`
)

func outputSchema() sdk.Value { return sdk.Value(outputOf(anyBody, anyBlob, "", "")) }

func pagedOutputSchema() sdk.Value {
	return sdk.Value(`{"type": "object", "properties": {` + outputHead + `, "body": ` + anyBody + `, "blob": ` + anyBlob + `, "items": ` + anyItems + `, ` + cursorOf + `}, ` + required + `]}`)
}

// outputOf is the schema of an output with a known body and large value, with items where
// they are given, and with definitions.
func outputOf(body, blob, items, definitions string) string {
	paged, needed := "", ""
	if items != "" {
		paged, needed = `, "items": `+items+`, `+cursorOf, `, "items", "next_cursor"`
	}
	if blob == isBlob {
		needed += `, "blob"`
	}
	if definitions != "" {
		definitions = `, "$defs": ` + definitions
	}
	return `{"type": "object", "properties": {` + outputHead + `, "body": ` + body + `, "blob": ` + blob + paged + `}, ` + required + needed + `]` + definitions + `}`
}

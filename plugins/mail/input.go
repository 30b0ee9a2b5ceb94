package mail

import "github.com/flowrun/flowrun/sdk"

// sendInput is the input of mail.send.
type sendInput struct {
	From        sdk.Value         `json:"from"`
	To          []sdk.Value       `json:"to"`
	CC          []sdk.Value       `json:"cc"`
	BCC         []sdk.Value       `json:"bcc"`
	ReplyTo     []sdk.Value       `json:"reply_to"`
	Subject     string            `json:"subject"`
	Text        *string           `json:"text"`
	Markdown    *string           `json:"markdown"`
	HTML        *string           `json:"html"`
	Attachments []attachment      `json:"attachments"`
	Headers     map[string]string `json:"headers"`
	InReplyTo   string            `json:"in_reply_to"`
	References  []string          `json:"references"`
	OnRefused   string            `json:"on_refused"`
}

// attachment is one attached file: its content is text, base64 or a large value.
type attachment struct {
	Name      string    `json:"name"`
	MediaType string    `json:"media_type"`
	Text      *string   `json:"text"`
	Base64    *string   `json:"base64"`
	Blob      *sdk.Blob `json:"blob"`
}

// namesSomebody reports whether the input names recipients; without it they are those of
// the connection.
func (in sendInput) namesSomebody() bool { return len(in.To)+len(in.CC)+len(in.BCC) > 0 }

// What becomes of a message of which the server refuses some recipients.
const (
	refusedFails   = "fail"   // the others get it, and the step fails
	refusedCancels = "cancel" // nobody gets it, and the step fails
	refusedReports = "report" // the others get it, and the output says who does not
)

// sent is the output of mail.send.
type sent struct {
	MessageID string    `json:"message_id" doc:"Message-ID of the message, in angle brackets: the same on each attempt" default:"<0@example.com>"`
	Accepted  []string  `json:"accepted" doc:"Addresses that the server took" default:"[]"`
	Refused   []refusal `json:"refused" doc:"Addresses that it did not take, with on_refused: report; else the step fails" default:"[]"`
	Size      int64     `json:"size" doc:"Bytes of the message as it was sent" default:"0"`
	Response  string    `json:"response" doc:"What the server said when it took the message" default:""`
}

// refusal is a recipient that the server did not take.
type refusal struct {
	Address string `json:"address" doc:"The address"`
	Code    int    `json:"code" doc:"Code of the server's reply, such as 550"`
	Status  string `json:"status" doc:"Its enhanced status (RFC 3463), such as 5.1.1; empty where it said none"`
	Message string `json:"message" doc:"The server's words"`
}

// addressSchema is an address with or without a name.
const addressSchema = `{"anyOf": [
  {"type": "string", "minLength": 3},
  {"type": "object", "additionalProperties": false, "required": ["address"], "properties": {
    "address": {"type": "string", "minLength": 3, "description": "The address alone."},
    "name": {"type": "string", "description": "Whose it is; any text, without quotes around it."}}}
]`

func addressesSchema(doc string) string {
	return `{"type": "array", "items": ` + addressSchema + `}, "description": "` + doc + `"}`
}

// inputSchema is written out: an address is of two kinds.
func inputSchema() sdk.Value {
	return sdk.Value(`{"type": "object", "additionalProperties": false, "required": ["subject"], "properties": {
"to": ` + addressesSchema("Recipients: ann@example.com, Ann <ann@example.com>, or an object with address and name. Where to, cc and bcc are empty, those of the connection.") + `,
"cc": ` + addressesSchema("Recipients of a copy.") + `,
"bcc": ` + addressesSchema("Recipients of a copy that no other sees.") + `,
"from": ` + addressSchema + `, "description": "Another sender than the connection's, one that its senders allow."},
"reply_to": ` + addressesSchema("Where answers go.") + `,
"subject": {"type": "string", "minLength": 1, "maxLength": 2000, "description": "The subject, one line."},
"markdown": {"type": "string", "description": "The message in Markdown: it is sent as it is, and as HTML made of it. HTML in it stays text, pictures become links."},
"text": {"type": "string", "description": "The message as text; beside markdown or html what is shown where no HTML is."},
"html": {"type": "string", "description": "The message as HTML, sent as it stands."},
"attachments": {"type": "array", "maxItems": 100, "items": {"type": "object", "additionalProperties": false, "properties": {
  "name": {"type": "string", "minLength": 1, "description": "Name of the file, at most 255 bytes, without a path; that of the blob where it is not said."},
  "media_type": {"type": "string", "minLength": 3, "description": "Its media type; that of the blob, or by the name's extension, where it is not said."},
  "text": {"type": "string", "description": "Its content as text, UTF-8."},
  "base64": {"type": "string", "description": "Its content as bytes, in base64."},
  "blob": {"type": "object", "x-flowrun-blob": true, "description": "Its content as a large value that another step gave."}
}}, "description": "Attached files. Each has text, base64 or a blob."},
"headers": {"type": "object", "additionalProperties": {"type": "string"}, "description": "More headers: X-… and those of lists and of automatic mail; no others."},
"in_reply_to": {"type": "string", "minLength": 3, "description": "Message-ID of the message that this one answers, such as a message_id of before."},
"references": {"type": "array", "maxItems": 100, "items": {"type": "string", "minLength": 3}, "description": "Message-IDs of the thread, the oldest first; in_reply_to where nothing is said."},
"on_refused": {"type": "string", "enum": ["fail", "cancel", "report"], "default": "fail", "description": "What happens where the server refuses some of the recipients. fail: the others get the message, and the step fails. cancel: nobody gets it, and the step fails. report: the others get it, and refused says who does not."}
}}`)
}

// What the examples give.
const (
	exampleInput  = `{"to":["ann@example.com"],"subject":"The backup is done","markdown":"**42 files**, 1.2 GB."}`
	exampleReport = `{"to":[{"address":"ann@example.com","name":"Ann"}],"subject":"Report","text":"See the attached file.","attachments":[{"name":"report.csv","text":"name,sum\r\napples,3\r\n"}]}`
	exampleOutput = `{"message_id":"<6a2f0c4e9b1d4f7a8c3e5d6f7a8b9c0d@example.com>","accepted":["ann@example.com"],"refused":[],"size":1234,"response":"2.0.0 Ok: queued"}`
)

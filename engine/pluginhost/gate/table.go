package gate

import (
	"google.golang.org/protobuf/reflect/protoreflect"
)

// Kind says what a field of the protocol is.
type Kind int

// The kinds of fields.
const (
	Outbound   Kind = iota + 1 // the host's own, on its way to a plugin
	Text                       // for people, or a word of the remote service: masked, then cut to its limit
	Name                       // an identifier that the plugin chose: refused with a secret in it
	Key                        // of a stored row, which stands in clear: a secret in it becomes its keyed digest
	Said                       // JSON for people: made readable and masked; left out when it is no JSON
	Document                   // JSON that is data: strict; masked when its secret parts have been taken out (Host.sealOutput)
	Sample                     // JSON that is an example: strict and masked
	Schema                     // JSON Schema: strict; refused with a secret in it
	Opaque                     // the plugin's own bytes: sealed by the host, and shown to nobody
	Cursor                     // the plugin's own text: sealed by the host where it holds a secret
	Credential                 // a token, learned by the redactor and kept sealed
	Recipe                     // the plugin's own bytes that are kept with its description, in clear: refused with a secret in them
)

// Row says what one field is. Shown tells whether people see it somewhere.
type Row struct {
	Field protoreflect.FullName
	Kind  Kind
	Shown bool
	Limit int // of a text: how many of its bytes are kept, behind the mask; 0 = all
}

// How much is kept of texts for people, in bytes.
const (
	maxText    = 4 << 10
	maxWord    = 200 // a word of the remote service
	maxPointer = 1000
)

// Table returns the rows of all texts and bytes of the protocol. A test fails for a
// field without a row, and for a row without a field.
func Table() []Row {
	var rows []Row
	add := func(message string, fields ...Row) {
		for _, row := range fields {
			row.Field = protoreflect.FullName("flowrun.plugin.v1." + message + "." + string(row.Field))
			rows = append(rows, row)
		}
	}
	describeRows(add)
	answerRows(add)
	questionRows(add)
	outboundRows(add)
	return rows
}

type adder func(message string, fields ...Row)

// describeRows are what a plugin says of itself.
func describeRows(add adder) {
	name := func(field protoreflect.Name) Row {
		return Row{Field: protoreflect.FullName(field), Kind: Name, Shown: true}
	}
	text := func(field protoreflect.Name) Row {
		return Row{Field: protoreflect.FullName(field), Kind: Text, Shown: true}
	}
	add("Capabilities", name("features"))
	add("DescribeResponse", name("name"), name("version"), name("sdk"), text("doc"), Row{Field: "config_schema", Kind: Schema, Shown: true}, name("token_action"), name("simulator"),
		Row{Field: "settings_schema", Kind: Schema, Shown: true}, Row{Field: "recipe", Kind: Recipe})
	add("Login", name("start"), name("wait"), name("status"), name("revoke"), name("scopes"))
	add("Delivery", name("action"), name("content"), name("markdown"), name("path"), name("title"))
	add("Grants", name("env"), name("hosts"))
	add("Limiter", name("name"), name("scope"))
	add("Action", name("name"), text("doc"), Row{Field: "input_schema", Kind: Schema, Shown: true}, Row{Field: "output_schema", Kind: Schema, Shown: true}, name("limiters"), text("deprecated"), Row{Field: "recipe", Kind: Recipe})
	add("Paging", name("cursor_field"), name("items_field"), name("next_field"), name("identity"))
	add("Range", name("from_field"), name("to_field"))
	add("Example", text("name"), Row{Field: "input", Kind: Sample, Shown: true}, Row{Field: "output", Kind: Sample, Shown: true})
	add("Fault", text("reason"), text("doc"))
}

// answerRows are what a plugin answers.
func answerRows(add adder) {
	text := func(field protoreflect.Name, limit int) Row {
		return Row{Field: protoreflect.FullName(field), Kind: Text, Shown: true, Limit: limit}
	}
	add("CallEvent", Row{Field: "event", Kind: Opaque}) // it passes when it is whole, as an ExecuteEvent
	add("CallStatus", text("message", 0))
	add("Value", Row{Field: "json", Kind: Document, Shown: true}, Row{Field: "sensitive", Kind: Opaque})
	add("Diagnostic", text("summary", maxText), text("detail", maxText), text("pointer", maxPointer))
	add("ValidateResponse", Row{Field: "output_schema", Kind: Schema, Shown: true}, Row{Field: "paging_identity", Kind: Name, Shown: true})
	add("CheckConnectionResponse", text("account", maxText), text("note", maxText))
	add("Log", text("message", 0), Row{Field: "fields", Kind: Said, Shown: true}) // the meter cuts lines
	add("Progress", text("message", maxPointer))
	add("Completed",
		Row{Field: "next_cursor", Kind: Cursor},
		Row{Field: "watermark", Kind: Opaque},
		Row{Field: "meta", Kind: Said, Shown: true},
		Row{Field: "page_note", Kind: Opaque})
	add("Pending", Row{Field: "checkpoint", Kind: Opaque}, text("message", maxText))
	add("Prompt", text("title", 0), text("url", 0), text("user_code", 0), text("message", 0))
	add("Error", text("message", maxText), text("reason", maxWord), text("pointer", maxPointer),
		Row{Field: "details", Kind: Said, Shown: true}, text("limiter", maxWord), text("hint", maxText))
	add("ReconcileResponse", text("note", maxText))
}

// questionRows are what a plugin asks the host.
func questionRows(add adder) {
	key := func(field protoreflect.Name) Row { return Row{Field: protoreflect.FullName(field), Kind: Key} }
	add("GetStateRequest", key("scope"), key("key"))
	add("PutStateRequest", key("scope"), key("key"), Row{Field: "value", Kind: Opaque})
	add("AcquireTokenRequest", key("connection"), key("key"), Row{Field: "reject", Kind: Opaque})
	add("Token", Row{Field: "access_token", Kind: Credential}, Row{Field: "token_type", Kind: Opaque}, Row{Field: "refresh_token", Kind: Credential},
		Row{Field: "extra", Kind: Document}, Row{Field: "id", Kind: Opaque})
	add("CommitTokenRequest", Row{Field: "lease_id", Kind: Opaque})
	// Parts of a large value are looked at where they are stored: one with a secret is sealed.
	add("PutBlobRequest", key("upload"), Row{Field: "data", Kind: Opaque}, Row{Field: "note", Kind: Opaque},
		Row{Field: "media_type", Kind: Text, Shown: true, Limit: maxWord}, Row{Field: "name", Kind: Text, Shown: true, Limit: maxWord})
	add("GetBlobRequest", Row{Field: "digest", Kind: Opaque})
}

// outboundRows are the host's own: a plugin hears them.
func outboundRows(add adder) {
	own := func(field protoreflect.Name) Row { return Row{Field: protoreflect.FullName(field), Kind: Outbound} }
	add("DescribeRequest", own("host_version"), own("name"))
	add("SettingsFile", own("pointer"), own("path"), own("content"))
	add("DescribeActionsRequest", own("name"), own("actions"))
	add("ValidateRequest", own("action"), own("unknown"), own("connection"), own("config_unknown"), own("recipe"))
	add("ConnectRequest", own("connection"), own("config_hash"), own("recipe"))
	add("CheckConnectionRequest", own("connection"))
	add("ExecuteRequest", own("action"), own("connection"), own("checkpoint"), own("page_cursor"), own("watermark"), own("page_note"), own("recipe"))
	add("CallWord", own("execute"))
	add("RunContext", own("workflow"), own("run_id"), own("step_id"), own("idempotency_key"), own("traceparent"))
	add("ReconcileRequest", own("action"), own("connection"), own("checkpoint"), own("recipe"))
	add("GetStateResponse", own("value"))
	add("StoredToken", own("state"), own("extra"), own("reason"))
	add("RefreshLease", own("id"))
	add("PutBlobResponse", own("note"))
	add("GetBlobResponse", own("data"))
}

// walk is what is to be done with the fields of a message.
type walk struct {
	steps []step
}

// step is what is to be done with one field: its message is walked, or it is a leaf.
type step struct {
	field   protoreflect.FieldDescriptor
	message *walk
	kind    Kind
	limit   int
}

// walksOf makes the walks of all messages of a file. A field of the protocol's own
// messages, a text or bytes is in the walk; numbers and times say nothing.
func walksOf(file protoreflect.FileDescriptor, table []Row) map[protoreflect.FullName]*walk {
	rows := make(map[protoreflect.FullName]Row, len(table))
	for _, row := range table {
		rows[row.Field] = row
	}
	walks := map[protoreflect.FullName]*walk{}
	messages := file.Messages()
	for i := range messages.Len() {
		walks[messages.Get(i).FullName()] = &walk{}
	}
	for i := range messages.Len() {
		fields := messages.Get(i).Fields()
		for j := range fields.Len() {
			field := fields.Get(j)
			if made, has := stepOf(field, rows, walks); has {
				w := walks[messages.Get(i).FullName()]
				w.steps = append(w.steps, made)
			}
		}
	}
	return walks
}

func stepOf(field protoreflect.FieldDescriptor, rows map[protoreflect.FullName]Row, walks map[protoreflect.FullName]*walk) (made step, has bool) {
	switch field.Kind() {
	case protoreflect.MessageKind:
		if inner := walks[field.Message().FullName()]; inner != nil {
			return step{field: field, message: inner}, true
		}
	case protoreflect.StringKind, protoreflect.BytesKind:
		row := rows[field.FullName()]
		return step{field: field, kind: row.Kind, limit: row.Limit}, true
	}
	return step{}, false
}

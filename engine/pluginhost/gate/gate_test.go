package gate

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/url"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"

	pluginv1 "github.com/flowrun/flowrun/sdk/proto/pluginv1"
)

const canary = "kilo/3f9a+41d7e0-Zeta"

// masks stands for the redactor: it knows one secret.
func masks(text string) string { return strings.ReplaceAll(text, canary, "•••") }

func newGate() *Gate {
	return New(Options{Redact: masks, Digest: func(string) (string, error) { return "d1", nil }})
}

func textFields(t *testing.T, visit func(protoreflect.MessageDescriptor, protoreflect.FieldDescriptor)) {
	t.Helper()
	messages := pluginv1.File_flowrun_plugin_v1_plugin_proto.Messages()
	for i := range messages.Len() {
		if messages.Get(i).Messages().Len() > 0 {
			t.Fatalf("%s has messages inside: the walk does not know them", messages.Get(i).FullName())
		}
		fields := messages.Get(i).Fields()
		for j := range fields.Len() {
			field := fields.Get(j)
			if field.IsMap() {
				t.Fatalf("%s is a map: the walk does not know them", field.FullName())
			}
			if field.Kind() == protoreflect.StringKind || field.Kind() == protoreflect.BytesKind {
				visit(messages.Get(i), field)
			}
		}
	}
}

// TestIssue13_01_EachFieldHasARow: a field that comes to the protocol is judged before
// it is used.
func TestIssue13_01_EachFieldHasARow(t *testing.T) {
	rows := map[protoreflect.FullName]int{}
	for _, row := range Table() {
		rows[row.Field]++
		if rows[row.Field] > 1 {
			t.Errorf("%s has two rows", row.Field)
		}
	}
	known := 0
	textFields(t, func(_ protoreflect.MessageDescriptor, field protoreflect.FieldDescriptor) {
		known++
		if rows[field.FullName()] == 0 {
			t.Errorf("%s has no row: say what it is", field.FullName())
		}
		delete(rows, field.FullName())
	})
	for field := range rows {
		t.Errorf("the row %s has no field", field)
	}
	if known < 90 {
		t.Errorf("only %d texts and bytes were found in the protocol", known)
	}
}

// TestIssue13_01_OutboundFieldsAreInNoMessageOfAPlugin: a row that says that a field
// is the host's own holds only where no plugin can set it.
func TestIssue13_01_OutboundFieldsAreInNoMessageOfAPlugin(t *testing.T) {
	outbound := map[protoreflect.FullName]bool{}
	for _, row := range Table() {
		outbound[row.Field] = row.Kind == Outbound
	}
	seen := map[protoreflect.FullName]bool{}
	var search func(protoreflect.MessageDescriptor)
	search = func(message protoreflect.MessageDescriptor) {
		if seen[message.FullName()] {
			return
		}
		seen[message.FullName()] = true
		for i := range message.Fields().Len() {
			field := message.Fields().Get(i)
			if field.Message() != nil {
				search(field.Message())
			}
			if outbound[field.FullName()] {
				t.Errorf("%s can be set by a plugin, and its row says that it is the host's", field.FullName())
			}
		}
	}
	for _, message := range fromPlugins() {
		search(message)
	}
}

// fromPlugins are the messages that plugins send: answers of Plugin, requests of Host.
func fromPlugins() []protoreflect.MessageDescriptor {
	var messages []protoreflect.MessageDescriptor
	services := pluginv1.File_flowrun_plugin_v1_plugin_proto.Services()
	for i := range services.Len() {
		methods := services.Get(i).Methods()
		for j := range methods.Len() {
			if services.Get(i).Name() == "Plugin" {
				messages = append(messages, methods.Get(j).Output())
			} else {
				messages = append(messages, methods.Get(j).Input())
			}
		}
	}
	return messages
}

// put sets a field, or its only element, and returns the message.
func put(message protoreflect.MessageDescriptor, field protoreflect.FieldDescriptor, text string) *dynamicpb.Message {
	m := dynamicpb.NewMessage(message)
	value := protoreflect.ValueOfString(text)
	if field.Kind() == protoreflect.BytesKind {
		value = protoreflect.ValueOfBytes([]byte(text))
	}
	if field.IsList() {
		m.Mutable(field).List().Append(value)
	} else {
		m.Set(field, value)
	}
	return m
}

func got(m protoreflect.Message, field protoreflect.FieldDescriptor) string {
	value := m.Get(field)
	if field.IsList() {
		if value.List().Len() == 0 {
			return ""
		}
		value = value.List().Get(0)
	}
	if field.Kind() == protoreflect.BytesKind {
		return string(value.Bytes())
	}
	return value.String()
}

// TestIssue13_01_WhatBecomesOfASecretInEachField puts a secret into every field, one at
// a time, and holds what comes out against the field's row.
func TestIssue13_01_WhatBecomesOfASecretInEachField(t *testing.T) {
	kinds := map[protoreflect.FullName]Kind{}
	for _, row := range Table() {
		kinds[row.Field] = row.Kind
	}
	g := newGate()
	textFields(t, func(message protoreflect.MessageDescriptor, field protoreflect.FieldDescriptor) {
		text := "x " + canary + " y"
		if kind := kinds[field.FullName()]; kind == Said || kind == Document || kind == Sample || kind == Schema {
			text = `{"` + canary + `":["` + canary + `"]}`
		}
		m := put(message, field, text)
		err := g.Message(m)
		left := got(m, field)
		var fault *Fault
		refused := errors.As(err, &fault)
		switch kinds[field.FullName()] {
		case Text, Said, Sample:
			if refused || strings.Contains(left, canary) || !strings.Contains(left, "•••") {
				t.Errorf("%s became %q, %v", field.FullName(), left, err)
			}
		case Name, Schema:
			if !refused || !fault.Secret || strings.Contains(fault.Error(), canary) || fault.Path != string(field.Name()) {
				t.Errorf("%s was not refused: %v", field.FullName(), err)
			}
		case Key:
			if refused || left != "digest:d1" {
				t.Errorf("%s became %q, %v", field.FullName(), left, err)
			}
		case Document, Opaque, Cursor, Credential, Outbound:
			if refused || left != text {
				t.Errorf("%s became %q, %v", field.FullName(), left, err)
			}
		}
	})
}

// TestIssue13_01_NestedMessagesAreWalked: lists of messages, messages in messages, the
// one of several that is set.
func TestIssue13_01_NestedMessagesAreWalked(t *testing.T) {
	event := &pluginv1.ExecuteEvent{Event: &pluginv1.ExecuteEvent_Pending{Pending: &pluginv1.Pending{
		Message: canary, Checkpoint: []byte(canary),
		Prompt: &pluginv1.Prompt{Title: canary, Url: "https://a.example/?key=" + canary + "&code=WDJB-MJHT", UserCode: "WDJB-MJHT", Message: canary},
	}}}
	if err := newGate().Message(event); err != nil {
		t.Fatal(err)
	}
	prompt := event.GetPending().GetPrompt()
	if strings.Contains(event.GetPending().GetMessage()+prompt.GetTitle()+prompt.GetMessage()+prompt.GetUrl(), canary) {
		t.Errorf("a secret is left: %v", event)
	}
	if prompt.GetUrl() != "https://a.example/?key=•••&code=WDJB-MJHT" || prompt.GetUserCode() != "WDJB-MJHT" || string(event.GetPending().GetCheckpoint()) != canary {
		t.Errorf("more than the secret was taken: %v", event)
	}
	described := &pluginv1.DescribeResponse{Name: "x", Actions: []*pluginv1.Action{{Name: "a"}, {Name: "b", Examples: []*pluginv1.Example{{Input: []byte(`{"a":1,"a":2}`)}}}}}
	var fault *Fault
	if err := newGate().Message(described); !errors.As(err, &fault) || fault.Path != "actions.b.examples.0.input" || !strings.Contains(fault.Why, "twice") {
		t.Errorf("fault = %v", err)
	}
	unknown := &pluginv1.Log{Message: "x"}
	unknown.ProtoReflect().SetUnknown([]byte{0xa2, 0x06, 0x01, 'k'})
	if err := newGate().Message(unknown); err != nil || len(unknown.ProtoReflect().GetUnknown()) > 0 {
		t.Errorf("what no row names is left: %v, %v", unknown.ProtoReflect().GetUnknown(), err)
	}
}

// TestIssue13_01_EscapesHideNothing: who reads a document reads its escapes.
func TestIssue13_01_EscapesHideNothing(t *testing.T) {
	g := newGate()
	var all strings.Builder
	for _, r := range canary {
		all.WriteString(`\u` + hex.EncodeToString([]byte{byte(r >> 8), byte(r)}))
	}
	for name, doc := range map[string]string{
		"one letter":  `{"a":"\u006b` + canary[1:] + `"}`,
		"a slash":     `{"a":"` + strings.ReplaceAll(canary, "/", `\/`) + `"}`,
		"all letters": `{"a":["` + all.String() + `"]}`,
		"a name":      `{"\u004bilo":1,"` + all.String() + `":2}`,
	} {
		masked := g.Said([]byte(doc))
		var tree any
		if err := json.Unmarshal(masked, &tree); err != nil {
			t.Errorf("%s: %q: %v", name, masked, err)
		}
		plain, _ := json.Marshal(tree)
		if strings.Contains(strings.ReplaceAll(string(plain), `\/`, "/"), canary) || !strings.Contains(string(masked), "•••") {
			t.Errorf("%s: %s", name, masked)
		}
	}
	for _, doc := range []string{`{"a":"line\nline \u00e9 \ud83d\ude00 \\u006b"}`, `{"b":1.50,"a":[]}`, `"\ud83d"`} {
		if masked := g.Said([]byte(doc)); string(masked) != doc {
			t.Errorf("%s became %s", doc, masked)
		}
	}
}

// TestIssue13_01_CutsAreBehindTheMask: a secret that is cut in two would be known by
// nobody.
func TestIssue13_01_CutsAreBehindTheMask(t *testing.T) {
	g := newGate()
	for _, size := range []int{maxText - 10, maxText - 1, maxText - len(canary) + 1} {
		m := &pluginv1.Error{Message: strings.Repeat("x", size) + canary + "tail", Reason: strings.Repeat("x", 195) + canary}
		if err := g.Message(m); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(m.GetMessage(), canary[:5]) || strings.Contains(m.GetReason(), canary[:3]) || len(m.GetMessage()) > maxText+3 {
			t.Errorf("at %d: %q, %q", size, m.GetMessage()[maxText-20:], m.GetReason())
		}
	}
}

// TestIssue13_01_AWordIsNoSecret: a secret that is a word takes no plugin away.
func TestIssue13_01_AWordIsNoSecret(t *testing.T) {
	g := New(Options{Redact: func(text string) string { return strings.ReplaceAll(text, "password", "•••") }})
	schema := []byte(`{"type":"object","properties":{"password":{"type":"string","writeOnly":true}},"required":["password"]}`)
	if err := g.Message(&pluginv1.DescribeResponse{Name: "password", ConfigSchema: schema}); err != nil {
		t.Error(err)
	}
	for _, text := range []string{"password1", "my password", "passwordpassword"} {
		if err := g.Message(&pluginv1.DescribeResponse{Name: text}); err == nil {
			t.Errorf("%q passes", text)
		}
	}
}

// TestIssue13_01_StatusesPassToo: the message of a gRPC status is a text, its details are gone.
func TestIssue13_01_StatusesPassToo(t *testing.T) {
	g := newGate()
	detailed, err := status.New(codes.DataLoss, "odd "+canary).WithDetails(&pluginv1.Error{Message: canary})
	if err != nil {
		t.Fatal(err)
	}
	passed := status.Convert(g.Status(detailed.Err()))
	if passed.Code() != codes.DataLoss || passed.Message() != "odd •••" || len(passed.Details()) > 0 {
		t.Errorf("passed = %v %v", passed, passed.Details())
	}
	own := errors.New("own")
	if g.Status(own) != own || g.Status(nil) != nil {
		t.Error("the host's own errors changed")
	}
}

// forms are what the canary suites search for beside the plain text.
func forms() []string {
	return []string{base64.StdEncoding.EncodeToString([]byte(canary)), hex.EncodeToString([]byte(canary)), url.QueryEscape(canary)}
}

// TestIssue13_01_TheGateAsksTheRedactorForForms: what the redactor knows of a secret is
// masked, the gate has no list of its own.
func TestIssue13_01_TheGateAsksTheRedactorForForms(t *testing.T) {
	known := strings.NewReplacer(forms()[0], "•••", forms()[1], "•••", forms()[2], "•••")
	g := New(Options{Redact: known.Replace})
	for _, form := range forms() {
		m := &pluginv1.Prompt{Url: "https://a.example/" + form}
		if err := g.Message(m); err != nil || m.GetUrl() != "https://a.example/•••" {
			t.Errorf("%s: %v, %v", form, m, err)
		}
	}
}

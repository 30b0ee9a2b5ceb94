package main

import (
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
)

// message is a call and its answer alike. On the wire it is a message of protobuf with
// these fields, written by hand: the floor has no generated code.
type message struct {
	ID     uint64 // of the call, on a stream
	Action string
	Key    string // the idempotency key of a step with an effect
	Body   []byte // JSON
}

// codec makes messages of gRPC of it.
type codec struct{}

// Name is that of the content type.
func (codec) Name() string { return "floor" }

// Marshal writes a message.
func (codec) Marshal(v any) ([]byte, error) {
	m, ok := v.(*message)
	if !ok {
		return nil, fmt.Errorf("the floor sends messages, no %T", v)
	}
	out := make([]byte, 0, 32+len(m.Action)+len(m.Key)+len(m.Body))
	if m.ID != 0 {
		out = protowire.AppendVarint(protowire.AppendTag(out, 1, protowire.VarintType), m.ID)
	}
	for number, text := range []string{2: m.Action, 3: m.Key} {
		if text != "" {
			out = protowire.AppendString(protowire.AppendTag(out, protowire.Number(number), protowire.BytesType), text)
		}
	}
	return protowire.AppendBytes(protowire.AppendTag(out, 4, protowire.BytesType), m.Body), nil
}

// Unmarshal reads a message. Its body is a copy.
func (codec) Unmarshal(data []byte, v any) error {
	m, ok := v.(*message)
	if !ok {
		return fmt.Errorf("the floor receives messages, no %T", v)
	}
	for len(data) > 0 {
		number, kind, n := protowire.ConsumeTag(data)
		if n < 0 {
			return protowire.ParseError(n)
		}
		data = data[n:]
		switch {
		case number == 1 && kind == protowire.VarintType:
			if m.ID, n = protowire.ConsumeVarint(data); n < 0 {
				return protowire.ParseError(n)
			}
		case kind == protowire.BytesType:
			var text []byte
			if text, n = protowire.ConsumeBytes(data); n < 0 {
				return protowire.ParseError(n)
			}
			switch number {
			case 2:
				m.Action = string(text)
			case 3:
				m.Key = string(text)
			case 4:
				m.Body = append([]byte(nil), text...)
			}
		default:
			if n = protowire.ConsumeFieldValue(number, kind, data); n < 0 {
				return protowire.ParseError(n)
			}
		}
		data = data[n:]
	}
	return nil
}

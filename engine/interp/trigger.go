package interp

import (
	"encoding/json"
	"fmt"

	"github.com/flowrun/flowrun/engine/journal"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/schema"
)

// EncodeValue writes the value of an expression so that DecodeValue gives an equal
// one: what JSON has no form for, such as a time, keeps its type. What a trigger
// brings into a run is stored so.
func EncodeValue(value any) (json.RawMessage, error) {
	encoded, err := encodeTyped(value)
	if err != nil {
		return nil, fmt.Errorf("encode a value: %w", err)
	}
	return encoded, nil
}

// DecodeValue reads what EncodeValue wrote.
func DecodeValue(data json.RawMessage) (any, error) {
	value, err := decodeTyped(data)
	if err != nil {
		return nil, fmt.Errorf("decode a value: %w", err)
	}
	return value, nil
}

func (m *Machine) triggerName() string {
	if m.begun.Trigger == "" {
		return string(plan.TriggerManual)
	}
	return m.begun.Trigger
}

// brought is what a trigger brought into a run, decoded.
type brought struct{ item, outputs any }

// decodeTrigger decodes what the started event holds of the trigger.
func decodeTrigger(start *journal.Start) (b brought, err error) {
	if len(start.TriggerItem) > 0 {
		if b.item, err = DecodeValue(start.TriggerItem); err != nil {
			return b, fmt.Errorf("trigger.item: %w", err)
		}
	}
	if len(start.TriggerOutputs) > 0 {
		if b.outputs, err = DecodeValue(start.TriggerOutputs); err != nil {
			return b, fmt.Errorf("trigger.outputs: %w", err)
		}
	}
	return b, nil
}

// value is the root `trigger` of a run. What its kind does not bring is absent, which
// reads as null.
func (b brought) value(m *Machine) map[string]any {
	value := map[string]any{"name": m.triggerName(), "kind": m.triggerName(), "at": m.scheduledAt()}
	if kind := m.begun.TriggerKind; kind != "" {
		value["kind"] = string(kind)
	}
	if at := m.begun.TriggerAt; !at.IsZero() {
		value["at"] = schema.FixZone(at)
	}
	if len(m.begun.TriggerItem) > 0 {
		value["item"] = b.item
	}
	if len(m.begun.TriggerOutputs) > 0 {
		value["outputs"] = b.outputs
	}
	return value
}

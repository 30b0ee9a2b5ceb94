package interp

import (
	"encoding/json"
	"fmt"

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

// triggerValue is the root `trigger` of a run. What its kind does not bring is
// absent, which reads as null.
func (m *Machine) triggerValue() (map[string]any, error) {
	value := map[string]any{"name": m.triggerName(), "kind": m.triggerName(), "at": m.scheduledAt()}
	if kind := m.begun.TriggerKind; kind != "" {
		value["kind"] = string(kind)
	}
	if at := m.begun.TriggerAt; !at.IsZero() {
		value["at"] = schema.FixZone(at)
	}
	for name, stored := range map[string]json.RawMessage{"item": m.begun.TriggerItem, "outputs": m.begun.TriggerOutputs} {
		if len(stored) == 0 {
			continue
		}
		decoded, err := DecodeValue(stored)
		if err != nil {
			return nil, fmt.Errorf("trigger.%s: %w", name, err)
		}
		value[name] = decoded
	}
	return value, nil
}

package interp

import (
	"encoding/json"
	"maps"

	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/schema"
)

// The roots of expressions (docs/language.md, "Keys").
const (
	rootRun         = "run"
	rootTrigger     = "trigger"
	rootInputs      = "inputs"
	rootSteps       = "steps"
	rootSecrets     = "secrets"
	rootConnections = "connections"
	rootError       = "error"
	rootResult      = "result"
	nameIndex       = "index"
)

// rootEnv is the environment of the main steps. It is made once and grows with
// each step that ends. Roots that no expression of the program reads are not in it, where
// they would have to be made.
func (m *Machine) rootEnv(inputs any) map[string]any {
	env := map[string]any{
		rootInputs:  inputs,
		rootSteps:   make(map[string]any, len(m.program.main.steps)),
		rootSecrets: m.program.secrets,
	}
	read := m.program.roots
	if read[rootRun] {
		env[rootRun] = m.runValue(runs.RunRunning)
	}
	if read[rootTrigger] {
		env[rootTrigger] = m.trigger.value(m)
	}
	if read[rootConnections] {
		env[rootConnections] = m.connectionsValue()
	}
	return env
}

func (m *Machine) connectionsValue() map[string]any {
	connections := make(map[string]any, len(m.program.workflow.Connections))
	for name, plugin := range m.program.workflow.Connections {
		connections[name] = map[string]any{"name": name, "plugin": plugin}
	}
	return connections
}

func (m *Machine) runValue(status runs.Status) map[string]any {
	return map[string]any{
		"id":           m.begun.RunID,
		"workflow":     m.program.workflow.Name,
		"status":       string(status),
		"scheduled_at": m.scheduledAt(),
		"started_at":   schema.FixZone(m.started),
		"attempt":      m.attempt,
		"trigger":      m.triggerName(),
	}
}

// scheduledAt is never null: without a slot it is the time of acceptance.
func (m *Machine) scheduledAt() any {
	if m.begun.ScheduledAt.IsZero() {
		return schema.FixZone(m.started)
	}
	return schema.FixZone(m.begun.ScheduledAt)
}

func cloneEnv(env map[string]any) map[string]any {
	clone := make(map[string]any, len(env)+4)
	maps.Copy(clone, env)
	return clone
}

// value is what expressions read as steps.x.
func (s *step) value() map[string]any {
	var failure any
	if s.err != nil {
		failure = errorValue(s.err)
	}
	return map[string]any{
		"status":   statusValue(s.status),
		"outputs":  s.outputsValue(),
		"error":    failure,
		"attempts": s.attempts,
	}
}

// statusValue is a status as expressions see it. Those of nearly all steps take no memory.
func statusValue(status runs.StepStatus) any {
	switch status {
	case runs.StepSucceeded:
		return string(runs.StepSucceeded)
	case runs.StepSkipped:
		return string(runs.StepSkipped)
	}
	return string(status)
}

// errorValue is an error as expressions see it.
func errorValue(failure *runs.Error) map[string]any {
	value := map[string]any{
		"kind":    string(failure.Kind),
		"step":    failure.Step,
		"attempt": failure.Attempt,
		"message": failure.Message,
		"reason":  failure.Reason,
		"hint":    failure.Hint.Text,
		"details": nil,
	}
	if len(failure.Details) > 0 {
		if details, err := (&schema.Type{}).Decode(failure.Details); err == nil {
			value["details"] = details
		}
	}
	return value
}

// itemEnv is the environment of one item: what is visible around the loop, with
// the outer steps that its body reads, and its own names.
func (l *loop) itemEnv(index int) map[string]any {
	outer := l.step.list
	env := cloneEnv(outer.env)
	code := l.step.code.loop
	known := make(map[string]any, len(code.outer)+len(code.body.steps))
	if code.all {
		maps.Copy(known, outer.known)
	} else {
		for _, name := range code.outer {
			if value, ok := outer.known[name]; ok {
				known[name] = value
			}
		}
	}
	env[rootSteps] = known
	env[l.step.code.step.Loop.As] = l.elements.at(index)
	env[nameIndex] = index
	return env
}

// handlerEnv is the environment of a handler: the run's final status and error,
// and all main steps, ended or not.
func (m *Machine) handlerEnv() map[string]any {
	env := cloneEnv(m.env)
	known := make(map[string]any, len(m.main.steps)+8)
	for i := range m.main.steps {
		s := &m.main.steps[i]
		value := s.value()
		if s.loop != nil && s.result == nil && m.since(3) { // canceled on its way
			value["outputs"] = s.loop.outputs()
		}
		known[s.code.step.ID] = value
	}
	env[rootSteps] = known
	env[rootRun] = m.runValue(m.status)
	env[rootError] = nil
	if m.err != nil {
		env[rootError] = errorValue(m.err)
	}
	return env
}

// encodeResult writes a step's outputs as JSON.
func encodeResult(value any) (json.RawMessage, *runs.Error) {
	raw, err := schema.Encode(value)
	if err != nil {
		return nil, &runs.Error{Kind: plan.KindInvalid, Reason: reasonExpression, Message: err.Error()}
	}
	return raw, nil
}

package pluginhost

import (
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/pluginhost/gate"
	"github.com/flowrun/flowrun/engine/schema"
)

// actionContract is an action with its schemas. They are read when the action is used
// for the first time: `read` comes before any look at them.
type actionContract struct {
	*plan.Action
	recipe      []byte // the plugin's own, for each call
	said        bool   // by the plugin: its schemas decide everything about an input
	once        sync.Once
	wrong       error
	input       *schema.Type
	output      *schema.Type
	clearOutput *schema.Type // output as the plugin sends it: secrets in clear
	decided     bool         // nobody has to ask about an input that fits
}

// read reads the schemas, once. It may be called from several goroutines.
func (a *actionContract) read() error {
	a.once.Do(func() {
		if a.input, a.wrong = objectSchema(a.Input); a.wrong != nil {
			a.wrong = fmt.Errorf("input schema: %w", a.wrong)
			return
		}
		if a.output, a.wrong = schemaOf(a.Output); a.wrong != nil {
			a.wrong = fmt.Errorf("output schema: %w", a.wrong)
			return
		}
		a.clearOutput = a.output.WithoutSecrets()
		a.decided = a.said && len(schema.Ignored(a.Input)) == 0 // what is not read is for the plugin to say
	})
	return a.wrong
}

// trusted is the contract of a description that was checked when it was kept.
func (u *unit) trusted(d *Description) (*contract, error) {
	if d.Name != u.source.Name {
		return nil, fmt.Errorf("its name is %q, not %q", d.Name, u.source.Name)
	}
	c := &contract{Description: d, actions: make(map[string]*actionContract, len(d.Actions))}
	var err error
	if c.config, err = schemaOf(d.ConfigSchema); err != nil {
		return nil, fmt.Errorf("config schema: %w", err)
	}
	for _, action := range d.Actions {
		c.actions[action.Name] = &actionContract{Action: action, recipe: d.recipes[action.Name], said: d.decided[action.Name]}
	}
	return c, nil
}

// schemaOf reads a schema that all read alike.
func schemaOf(text json.RawMessage) (*schema.Type, error) {
	if fault := gate.DocumentFault(text); fault != "" {
		return nil, errors.New(fault)
	}
	return schema.FromJSON(text)
}

func objectSchema(text json.RawMessage) (*schema.Type, error) {
	t, err := schemaOf(text)
	if err != nil {
		return nil, err
	}
	if t.Kind != schema.Object {
		return nil, fmt.Errorf("it describes %s, not an object", t)
	}
	return t, nil
}

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
)

// workflow is what the floor runs when it is cold. It is JSON: the floor has no YAML.
type workflow struct {
	Name  string `json:"name"`
	Steps []struct {
		ID    string          `json:"id"`
		Uses  string          `json:"uses,omitempty"` // "" = no plugin
		With  json.RawMessage `json:"with,omitempty"`
		Value json.RawMessage `json:"value,omitempty"`
	} `json:"steps"`
}

// cold is a whole command: it opens the store, parses the workflow, stores the run with
// its first intent, makes the step, in the plugin where it uses one, stores the end, ends
// the plugin and closes the store.
func cold(store, file string) (err error) {
	c, err := openStore(store)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.close()) }()
	text, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("read the workflow: %w", err)
	}
	var w workflow
	if err := json.Unmarshal(text, &w); err != nil {
		return fmt.Errorf("parse the workflow %s: %w", file, err)
	}
	if len(w.Steps) != 1 {
		return fmt.Errorf("the workflow %s has %d steps: cold runs one", file, len(w.Steps))
	}
	ctx := context.Background()
	e := &engine{store: c, policy: policyMerged}
	r := e.newRun(w.Name, 1)
	if err := r.begin(); err != nil {
		return err
	}
	output := []byte(w.Steps[0].Value)
	if w.Steps[0].Uses != "" {
		if output, err = r.inPlugin(ctx); err != nil {
			return err
		}
	}
	return r.stepped(0, 1, output)
}

// inPlugin starts the plugin, makes the only step in it and ends it.
func (r *run) inPlugin(ctx context.Context) (output []byte, err error) {
	dir, err := os.MkdirTemp("", "floor")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	p, err := startPlugin(ctx, dir, unary, 0)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, p.end()) }()
	r.engine.calls = p.calls
	return r.call(ctx, 0)
}

// Package engine is the embedding API of flowrun: it loads a project, checks
// its workflows and runs them durably. It only joins the packages below it. A
// program that drives many runs sets the garbage collector by engine/collector.
package engine

import (
	"time"

	"github.com/flowrun/flowrun/engine/local"
	"github.com/flowrun/flowrun/engine/schema"
	"github.com/flowrun/flowrun/engine/workspace"
)

// StartRequest asks for a run of a workflow's bytes.
type StartRequest struct {
	File        string                     `json:"file"` // for messages and relative sub-workflows
	Source      []byte                     `json:"source"`
	Dir         string                     `json:"dir,omitempty"` // absolute; what a relative File starts from; "" = the owner's WorkDir
	Inputs      map[string]workspace.Input `json:"inputs,omitempty"`
	ScheduledAt time.Time                  `json:"scheduled_at,omitzero"` // zero = the time of acceptance
	RequestID   string                     `json:"request_id,omitempty"`  // a second request with it returns the first's run
	By          string                     `json:"by,omitempty"`
}

// ResumeRequest says how to go on. The hidden fields name and hold files: they are for
// the socket alone.
type ResumeRequest struct {
	Latest        bool   `json:"latest,omitempty" doc:"Go on with the workflow's file as it is now, in place of the pinned definition."`
	Dir           string `json:"dir,omitempty" hidden:"true"`         // where a relative name of the file starts from; "" = the project's root
	WithLatest    []byte `json:"with_latest,omitempty" hidden:"true"` // the file's bytes, where the caller has them
	DiscardWrites bool   `json:"discard_writes,omitempty" doc:"Go on although a state that the run writes has moved: its writes are dropped."`
	By            string `json:"by,omitempty" doc:"Who asks. Over TCP it is ignored."`
}

// RerunRequest asks for a new run that is linked to an old one.
type RerunRequest struct {
	From   string                     `json:"from,omitempty"` // step: the results before it are taken over
	Inputs map[string]workspace.Input `json:"inputs,omitempty"`
	By     string                     `json:"by,omitempty"`

	RequestID string `json:"request_id,omitempty"` // the same one again returns the first run
	Digest    string `json:"-"`                    // as of NamedStart
	Replayed  *bool  `json:"-"`
}

// Update is one message of a run's feed.
type Update = local.Update

// Updates are several of them, which all who follow a run get together.
type Updates = local.Updates

// Together are updates that several get together.
func Together(list ...Update) Updates { return local.Together(list...) }

// UpdateKind names what an Update tells.
type UpdateKind = local.UpdateKind

// The kinds of updates.
const (
	UpdateRun      = local.UpdateRun
	UpdateStep     = local.UpdateStep
	UpdateRecord   = local.UpdateRecord
	UpdateLog      = local.UpdateLog
	UpdateProgress = local.UpdateProgress
	UpdateWait     = local.UpdateWait
	UpdateEnd      = local.UpdateEnd
)

// JSONFault says what is wrong with a JSON text in words for people.
func JSONFault(err error) string { return schema.JSONFault(err) }

// WhyNoJSON says why a text that a person gave is not one JSON value: the line and
// column, what stands there and what was expected; "" = it is one.
func WhyNoJSON(text []byte) string { return schema.WhyNoJSON(text) }

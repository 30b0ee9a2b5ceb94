// Package plan holds a checked, normalized workflow as plain data: what the
// checker makes, the store keeps and the Machine interprets. It imports the
// standard library alone, and what writes JSON; schemas and expressions stand in it as text, so that a
// stored plan has no types to migrate.
package plan

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"
)

// FormatVersion is the version of the encoded plan. Decode refuses a newer one.
const FormatVersion = 1

// Workflow is a checked workflow. It is immutable once made and safe for
// concurrent use.
type Workflow struct {
	Format      int                `json:"format"`
	Name        string             `json:"name"`
	Description string             `json:"description,omitempty"`
	File        string             `json:"file"`   // as the author named it, for messages
	Source      string             `json:"source"` // the definition's bytes
	Labels      map[string]string  `json:"labels,omitempty"`
	Inputs      json.RawMessage    `json:"inputs,omitempty"` // JSON Schema of type object; properties hold the defaults
	State       json.RawMessage    `json:"state,omitempty"`  // JSON Schema of type object; properties hold the defaults
	Concurrency *Concurrency       `json:"concurrency,omitempty"`
	Triggers    []Trigger          `json:"triggers,omitempty"` // in written order
	Timeout     time.Duration      `json:"timeout"`
	Steps       []Step             `json:"steps"`
	Outputs     []Output           `json:"outputs,omitempty"`
	OnSuccess   []Step             `json:"on_success,omitempty"`
	OnFailure   []Step             `json:"on_failure,omitempty"`
	Finally     []Step             `json:"finally,omitempty"`
	Actions     map[string]*Action `json:"actions,omitempty"`     // every action that a step uses, by full name
	Connections map[string]string  `json:"connections,omitempty"` // plugins by connection name, where an expression reads `connections`

	// OutputSchema is the JSON Schema of the outputs: what a workflow that calls
	// this one sees. Workflows are the plans of the sub-workflows by the names that
	// steps use, pinned with this one.
	OutputSchema json.RawMessage      `json:"output_schema,omitempty"`
	Workflows    map[string]*Workflow `json:"workflows,omitempty"`

	// Limits are those that flowrun.yaml set when the plan was made; nil = the defaults.
	// They stand in the plan, so that a run goes by them whatever the file says later.
	Limits *Limits `json:"limits,omitempty"`
}

// Limits bound what a run may do; zero = the default (docs/reliability.md, "Limits").
type Limits struct {
	ExpressionSteps  int `json:"expression_steps,omitempty"`
	ExpressionResult int `json:"expression_result,omitempty"` // bytes
	LoopItems        int `json:"loop_items,omitempty"`
}

// StepKind says what a step does.
type StepKind string

// The kinds of steps.
const (
	StepAction   StepKind = "action"
	StepLet      StepKind = "let"
	StepSetState StepKind = "set_state"
	StepLoop     StepKind = "loop"
)

// RunIf is the upstream condition of a step (docs/language.md, rule 8).
type RunIf string

// The upstream conditions.
const (
	RunIfOK     RunIf = "ok"
	RunIfFailed RunIf = "failed"
	RunIfAny    RunIf = "any"
)

// Reaction is what follows the failure of a step.
type Reaction string

// The reactions of on_error.
const (
	ReactFail     Reaction = "fail"
	ReactContinue Reaction = "continue"
	ReactPause    Reaction = "pause"
)

// Step is one step of a list. A step without a name that can be read has an ID
// of "_" and its place in the list ("_3"), which no author can write.
type Step struct {
	ID      string   `json:"id"`
	Title   string   `json:"title,omitempty"` // the author's `name`
	Kind    StepKind `json:"kind"`
	Pos     Pos      `json:"pos"`
	Needs   []string `json:"needs,omitempty"` // ids of the same list: written, or the step above
	Reads   []string `json:"reads,omitempty"` // ids of the same list that the step reads and Needs lacks
	If      *Expr    `json:"if,omitempty"`
	RunIf   RunIf    `json:"run_if"`
	Timeout Duration `json:"timeout,omitempty"` // one attempt; always set for actions of plugins
	Within  Duration `json:"within,omitempty"`  // the whole step; 0 = unbounded

	// Action.
	Uses         string                 `json:"uses,omitempty"`
	Connection   *Value                 `json:"connection,omitempty"` // resolved name or expression; nil for core actions
	With         Value                  `json:"with,omitzero"`
	Retry        *Retry                 `json:"retry,omitempty"` // always set for actions of plugins
	Paginate     *Paginate              `json:"paginate,omitempty"`
	Repeat       *Repeat                `json:"repeat,omitempty"`
	Cache        Duration               `json:"cache,omitempty"`
	Incremental  string                 `json:"incremental,omitempty"` // name of the cursor
	OnErrorAll   Reaction               `json:"on_error_all,omitempty"`
	OnError      map[ErrorKind]Reaction `json:"on_error,omitempty"`
	OnUnknown    string                 `json:"on_unknown,omitempty"`    // ask, retry, fail; "" = ask
	OutputSchema json.RawMessage        `json:"output_schema,omitempty"` // narrowed by Validate; empty = the action's own
	PageIdentity string                 `json:"page_identity,omitempty"` // with Paginate: Paging.Identity, narrowed by Validate; empty = the action's own

	// Workflow is set for a step that runs a sub-workflow: its name among the
	// plan's Workflows. Uses is what the author wrote.
	Workflow string `json:"workflow,omitempty"`

	// Let and set_state: values in written order.
	Let []Binding `json:"let,omitempty"`

	Loop *Loop `json:"loop,omitempty"`
}

// MaxLoopItems is how many items a loop takes, unless the plan's limits say otherwise
// (docs/reliability.md, "Limits").
const MaxLoopItems = 10_000

// LoopItems is how many items a loop of the workflow takes.
func (w *Workflow) LoopItems() int {
	if w.Limits == nil || w.Limits.LoopItems <= 0 {
		return MaxLoopItems
	}
	return w.Limits.LoopItems
}

// Batches is how many items a loop has over so many elements; batch is that of the loop.
func Batches(elements, batch int) int {
	if batch <= 0 {
		return elements
	}
	return (elements + batch - 1) / batch
}

// Loop is a foreach with its steps.
type Loop struct {
	Foreach     Value  `json:"foreach"`
	Batch       int    `json:"batch,omitempty"` // an item is a list of up to so many elements; 0 = one element
	As          string `json:"as"`
	Key         *Expr  `json:"key,omitempty"`      // one expression
	KeyText     *Value `json:"key_text,omitempty"` // text with expressions; neither = the index
	MaxParallel int    `json:"max_parallel"`
	Collecting  bool   `json:"collecting,omitempty"` // on_error: collect
	Collect     *Value `json:"collect,omitempty"`
	Steps       []Step `json:"steps"`
}

// KeyValue is what tells the items apart: zero where it is the index.
func (l *Loop) KeyValue() Value {
	switch {
	case l.Key != nil:
		return Value{Kind: ValueExpr, Expr: l.Key}
	case l.KeyText != nil:
		return *l.KeyText
	}
	return Value{}
}

// Binding is a named value.
type Binding struct {
	Name  string `json:"name"`
	Value Value  `json:"value"`
}

// Output is one output of the workflow. Format is "", "markdown" or "csv".
// Columns is the order of the fields of rows with a format, as their author wrote
// them.
type Output struct {
	Name    string   `json:"name"`
	Value   Value    `json:"value"`
	Format  string   `json:"format,omitempty"`
	Columns []string `json:"columns,omitempty"`
	To      []Step   `json:"to,omitempty"` // where it goes when the run has succeeded: calls, each with its name as Title
}

// Retry bounds the attempts of one call. Attempts counts the first.
type Retry struct {
	Attempts int         `json:"attempts"`
	Delay    Duration    `json:"delay"`
	Factor   float64     `json:"factor"`
	MaxDelay Duration    `json:"max_delay"`
	Jitter   float64     `json:"jitter"` // 0.2 = 20 % either way
	On       []ErrorKind `json:"on"`
	Explicit bool        `json:"explicit,omitempty"` // the step itself says retry: a `once` call may be sent again after 429 or 503
}

// Paginate bounds the repetition of a paged call.
type Paginate struct {
	MaxPages int `json:"max_pages"`
	MaxItems int `json:"max_items"`
}

// Repeat polls an action until a condition holds on its outputs.
type Repeat struct {
	Until Expr     `json:"until"`
	Every Duration `json:"every"`
	Max   int      `json:"max,omitempty"` // rounds; 0 = unbounded
}

// Duration is a time.Duration, stored in nanoseconds.
type Duration = time.Duration

// Pos is a place in the workflow's file; both count from 1.
type Pos struct {
	Line   int `json:"line"`
	Column int `json:"column"`
}

// Expr is an expression as the author wrote it, without ${{ }}.
type Expr struct {
	Source string `json:"source"`
	Pos    Pos    `json:"pos"` // of the first character of Source
}

// ValueKind says which part of a Value is set.
type ValueKind string

// The kinds of values.
const (
	ValueLiteral ValueKind = "literal"
	ValueExpr    ValueKind = "expr"
	ValueText    ValueKind = "text"
	ValueObject  ValueKind = "object"
	ValueList    ValueKind = "list"
	ValueSecret  ValueKind = "secret"
)

// Value is a value with or without expressions. Its kind names the one part
// that is set. The zero Value stands for a value that was not written.
type Value struct {
	Kind    ValueKind       `json:"kind,omitempty"`
	Literal json.RawMessage `json:"literal,omitempty"` // already converted to the field's type
	Expr    *Expr           `json:"expr,omitempty"`
	Text    []TextPart      `json:"text,omitempty"` // mixed text
	Object  []Binding       `json:"object,omitempty"`
	List    []Value         `json:"list,omitempty"`
	Secret  string          `json:"secret,omitempty"` // NAME of secrets.NAME
}

// TextPart is literal text or an expression inside mixed text.
type TextPart struct {
	Text string `json:"text,omitempty"`
	Expr *Expr  `json:"expr,omitempty"`
}

// IsZero reports whether the value was not written.
func (v Value) IsZero() bool { return v.Kind == "" }

// Decode reads what Encode wrote. A plan of a newer format is refused.
func Decode(data []byte) (*Workflow, error) {
	var header struct{ Format int }
	if err := json.Unmarshal(data, &header); err != nil {
		return nil, fmt.Errorf("decode plan: %w", err)
	}
	if header.Format < 1 || header.Format > FormatVersion {
		return nil, fmt.Errorf("decode plan: format %d is not known to this version, which reads up to %d", header.Format, FormatVersion)
	}
	workflow := new(Workflow)
	if err := json.Unmarshal(data, workflow); err != nil {
		return nil, fmt.Errorf("decode plan: %w", err)
	}
	return workflow, nil
}

// Hash returns the SHA-256 of the encoded plan in hex.
func (w *Workflow) Hash() (string, error) {
	data, err := w.Encode()
	if err != nil {
		return "", fmt.Errorf("hash plan %s: %w", w.Name, err)
	}
	return HashOf(data), nil
}

// HashOf is Hash of a plan that Encode has written.
func HashOf(encoded []byte) string {
	sum := sha256.Sum256(encoded)
	return hex.EncodeToString(sum[:])
}

package conformance

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	pluginv1 "github.com/flowrun/flowrun/sdk/proto/pluginv1"
)

// Config is what a plugin's author tells the kit. All of it may be left out.
type Config struct {
	// Simulator is the command of a program that stands for the service, in place of the
	// manifest's; relative to the folder of the config file.
	Simulator []string `json:"simulator"`
	// Service is the address of a service that is there already: what is called at
	// ${service} is handed on to it.
	Service string `json:"service"`
	// Answers are those of the kit's own stub, where neither a simulator nor a service is
	// named. A request that none fits is answered with 404.
	Answers []Answer `json:"answers"`
	// Connection is the config of the connection; ${service} in its texts is the address
	// at which the kit listens. Its secrets are looked for in all that the plugin tells.
	Connection map[string]any `json:"connection"`
	// With is what the plugin is told, where it takes settings; files that it names are read
	// by Options.ReadFile.
	With map[string]any `json:"with"`
	// Env are granted variables.
	Env map[string]string `json:"env"`
	// Calls are made besides the examples of the manifest. Without something that stands
	// for the service only calls of reads and these are made.
	Calls  []Call            `json:"calls"`
	Faults []FaultCall       `json:"faults"` // what the plugin makes of answers of its service
	Skip   map[string]string `json:"skip"`   // case -> why it is not tried
}

// Answer is how the stub answers requests.
type Answer struct {
	Method  string            `json:"method"` // "" = any
	Path    string            `json:"path"`   // "" = any; with a * at its end: all that begin so
	Status  int               `json:"status"` // 0 = 200
	Headers map[string]string `json:"headers"`
	Body    json.RawMessage   `json:"body"` // a text is sent as it is, all else as JSON
}

// Call is a call that the plugin can do.
type Call struct {
	Action string          `json:"action"`
	Input  json.RawMessage `json:"input"`
	// CountedBy tells how often the effect happened.
	CountedBy *Count `json:"counted_by"`
}

// Count is a call whose output has a list, or a number, at the pointer.
type Count struct {
	Action  string          `json:"action"`
	Input   json.RawMessage `json:"input"`
	Pointer string          `json:"pointer"`
}

// FaultCall is a call, what the service answers to it, and what the plugin makes of that.
type FaultCall struct {
	Action string          `json:"action"`
	Input  json.RawMessage `json:"input"`
	Answer Answer          `json:"answer"`

	Code       string  `json:"code"`
	Reason     string  `json:"reason"`      // "" = any
	RetryAfter float64 `json:"retry_after"` // seconds; 0 = any
}

// ParseConfig reads a config from JSON. Names that it does not know are refused.
func ParseConfig(doc []byte) (Config, error) {
	var c Config
	decoder := json.NewDecoder(bytes.NewReader(doc))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&c); err != nil {
		return c, fmt.Errorf("read the kit's config: %w", err)
	}
	return c, c.check()
}

func (c Config) check() error {
	var problems []error
	if len(c.Simulator) > 0 && c.Service != "" {
		problems = append(problems, errors.New("`simulator` and `service` can't both stand for the service"))
	}
	if len(c.Answers) > 0 && (len(c.Simulator) > 0 || c.Service != "") {
		problems = append(problems, errors.New("`answers` are those of the kit's stub, which stands for the service where neither `simulator` nor `service` does"))
	}
	for i, call := range c.Calls {
		if call.Action == "" || call.CountedBy != nil && call.CountedBy.Action == "" {
			problems = append(problems, fmt.Errorf("call %d names no action", i+1))
		}
	}
	for i, f := range c.Faults {
		switch {
		case f.Action == "":
			problems = append(problems, fmt.Errorf("fault %d names no action", i+1))
		case codeOf(f.Code) == 0:
			problems = append(problems, fmt.Errorf("fault %d of %s: there is no code %q", i+1, f.Action, f.Code))
		}
	}
	known := map[string]bool{}
	for _, c := range allCases() {
		known[c.id] = true
	}
	for _, id := range slices.Sorted(maps.Keys(c.Skip)) {
		if !known[id] {
			problems = append(problems, fmt.Errorf("`skip` names %q, which is no case", id))
		}
		if strings.TrimSpace(c.Skip[id]) == "" {
			problems = append(problems, fmt.Errorf("`skip` does not say why %s is not tried", id))
		}
	}
	return errors.Join(problems...)
}

// codeOf is the code of that name, with or without its enum's prefix, 0 = none.
func codeOf(name string) pluginv1.Code {
	name = strings.ToUpper(name)
	for number, known := range pluginv1.Code_name {
		if strings.TrimPrefix(known, "CODE_") == strings.TrimPrefix(name, "CODE_") {
			return pluginv1.Code(number)
		}
	}
	return 0
}

// codeName is a code as documents write it.
func codeName(c pluginv1.Code) string {
	return strings.ToLower(strings.TrimPrefix(c.String(), "CODE_"))
}

// appliedName is what is known of an effect, as documents write it.
func appliedName(a pluginv1.Error_Applied) string {
	if a == appliedUnknown {
		return "unknown"
	}
	return strings.ToLower(strings.TrimPrefix(a.String(), "APPLIED_"))
}

// The numbers of the protocol that the kit judges by.
const (
	codeInvalid    = pluginv1.Code(1)
	appliedUnknown = pluginv1.Error_Applied(0)
	notApplied     = pluginv1.Error_Applied(1)
	warning        = pluginv1.Diagnostic_Severity(2) // any other is taken as an error
)

package pluginhost

import (
	"encoding/json"
	"path/filepath"
	"sync"
)

const (
	// maxAnswers bounds the remembered answers of Validate, for a server that checks
	// many workflows.
	maxAnswers = 4000
	// maxAnswersFile bounds the file of them, in bytes.
	maxAnswersFile = 1 << 20
)

// answers remembers what a plugin said to identical questions, which hold the digest
// of the plugin. What it had nothing against is kept in a file, so that the next
// process that checks the same workflow need not start it.
type answers struct {
	mu          sync.Mutex
	validations map[string]Validation
	file        string // "" = not read yet
	fresh       bool   // there is something to keep
}

// Validation is what a plugin says to an input of one of its actions.
type Validation struct {
	Diagnostics []Diagnostic
	Output      json.RawMessage // output schema, where the input narrows it; nil = as described
	Identity    string          // what tells the items of its pages apart, as plan.Paging has it; "" = as described
}

// keptAnswers is the file: what the plugin had nothing against, by question.
type keptAnswers map[string]keptAnswer

type keptAnswer struct {
	Output   json.RawMessage `json:"output,omitempty"`
	Identity string          `json:"identity,omitempty"`
}

func (a *answers) get(dir, plugin, question string) (Validation, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.file == "" {
		a.read(filepath.Join(dir, plugin+".answers.json"))
	}
	v, ok := a.validations[question]
	return v, ok
}

func (a *answers) read(file string) {
	a.file, a.validations = file, map[string]Validation{}
	var kept keptAnswers
	if err := readJSON(file, &kept); err != nil {
		return // it is only a cache
	}
	for question, answer := range kept {
		if _, err := schemaOf(answer.Output); answer.Output == nil || err == nil {
			a.validations[question] = Validation{Output: answer.Output, Identity: answer.Identity}
		}
	}
}

func (a *answers) put(question string, v Validation) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.validations) >= maxAnswers {
		clear(a.validations)
	}
	a.validations[question], a.fresh = v, a.fresh || len(v.Diagnostics) == 0
}

// keep writes the file; a failure only costs a start the next time.
func (a *answers) keep() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.fresh {
		return
	}
	kept := keptAnswers{}
	for question, v := range a.validations {
		if len(v.Diagnostics) == 0 { // others may hold a word of the input
			kept[question] = keptAnswer{v.Output, v.Identity}
		}
	}
	if data, err := json.Marshal(kept); err == nil && len(data) <= maxAnswersFile {
		_ = writeFile(a.file, data)
	}
}

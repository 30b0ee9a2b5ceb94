package pluginhost

import (
	"encoding/json"
	"path/filepath"
	"sync"
)

const (
	// maxAnswers bounds the remembered answers of Validate, for a server that checks
	// many workflows.
	maxAnswers = 1000
	// maxAnswersFile bounds the file of them, in bytes.
	maxAnswersFile = 1 << 20
)

// answers remembers what a plugin said to identical questions, which hold the digest
// of the plugin. What it had nothing against is kept in a file, so that the next
// process that checks the same workflow need not start it.
type answers struct {
	mu          sync.Mutex
	validations map[string]validation
	file        string // "" = not read yet
	fresh       bool   // there is something to keep
}

type validation struct {
	diagnostics []Diagnostic
	output      json.RawMessage
}

// keptAnswers is the file: narrowed output schemas by question, null = not narrowed.
type keptAnswers map[string]json.RawMessage

func (a *answers) get(dir, plugin, question string) (validation, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.file == "" {
		a.read(filepath.Join(dir, plugin+".answers.json"))
	}
	v, ok := a.validations[question]
	return v, ok
}

func (a *answers) read(file string) {
	a.file, a.validations = file, map[string]validation{}
	var kept keptAnswers
	if err := readJSON(file, &kept); err != nil {
		return // it is only a cache
	}
	for question, output := range kept {
		if string(output) == "null" {
			output = nil
		}
		if _, err := schemaOf(output); output == nil || err == nil {
			a.validations[question] = validation{output: output}
		}
	}
}

func (a *answers) put(question string, v validation) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.validations) >= maxAnswers {
		clear(a.validations)
	}
	a.validations[question], a.fresh = v, a.fresh || len(v.diagnostics) == 0
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
		if len(v.diagnostics) == 0 { // others may hold a word of the input
			kept[question] = v.output
		}
	}
	if data, err := json.Marshal(kept); err == nil && len(data) <= maxAnswersFile {
		_ = writeFile(a.file, data)
	}
}

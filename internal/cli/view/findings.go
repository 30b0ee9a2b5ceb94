package view

import (
	"fmt"
	"io"
	"strings"

	"github.com/flowrun/flowrun/engine/diag"
)

// GitHub prints problems as workflow commands, which GitHub shows beside the
// lines of a change.
func GitHub(out io.Writer, list diag.List) {
	property := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
	message := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	for _, problem := range list {
		text := problem.Message
		if problem.Hint != "" {
			text += "; " + problem.Hint
		}
		place := fmt.Sprintf("file=%s,line=%d,col=%d", property.Replace(problem.File), problem.Line, problem.Column)
		if problem.EndLine > 0 {
			place += fmt.Sprintf(",endLine=%d,endColumn=%d", problem.EndLine, problem.EndColumn)
		}
		fmt.Fprintf(out, "::%s %s,title=%s::%s\n", problem.Severity, place, problem.Code, message.Replace(text))
	}
}

// The parts of SARIF 2.1.0 that findings need.
type (
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool       sarifTool     `json:"tool"`
		ColumnKind string        `json:"columnKind"`
		Results    []sarifResult `json:"results"`
	}
	sarifTool struct {
		Driver sarifDriver `json:"driver"`
	}
	sarifDriver struct {
		Name    string      `json:"name"`
		Version string      `json:"version,omitempty"`
		Rules   []sarifRule `json:"rules"`
	}
	sarifRule struct {
		ID string `json:"id"`
	}
	sarifResult struct {
		RuleID    string          `json:"ruleId"`
		Level     string          `json:"level"`
		Message   sarifText       `json:"message"`
		Locations []sarifLocation `json:"locations"`
		Related   []sarifLocation `json:"relatedLocations,omitempty"`
	}
	sarifText struct {
		Text string `json:"text"`
	}
	sarifLocation struct {
		Physical sarifPhysical `json:"physicalLocation"`
		Message  *sarifText    `json:"message,omitempty"`
	}
	sarifPhysical struct {
		Artifact sarifArtifact `json:"artifactLocation"`
		Region   sarifRegion   `json:"region"`
	}
	sarifArtifact struct {
		URI string `json:"uri"`
	}
	sarifRegion struct {
		StartLine   int `json:"startLine"`
		StartColumn int `json:"startColumn"`
		EndLine     int `json:"endLine,omitempty"`
		EndColumn   int `json:"endColumn,omitempty"`
	}
)

// SARIF prints problems as SARIF 2.1.0. Columns count Unicode characters, as
// everywhere.
func SARIF(out io.Writer, list diag.List, version string) error {
	run := sarifRun{
		Tool:       sarifTool{sarifDriver{Name: "flowrun", Version: version, Rules: []sarifRule{}}},
		ColumnKind: "unicodeCodePoints", Results: []sarifResult{},
	}
	known := map[string]bool{}
	for _, problem := range list {
		if !known[problem.Code] {
			known[problem.Code] = true
			run.Tool.Driver.Rules = append(run.Tool.Driver.Rules, sarifRule{problem.Code})
		}
		text := problem.Message
		if problem.Hint != "" {
			text += "; " + problem.Hint
		}
		result := sarifResult{
			RuleID: problem.Code, Level: string(problem.Severity), Message: sarifText{text},
			Locations: []sarifLocation{{Physical: sarifPlace(problem.Pos)}},
		}
		for _, related := range problem.Related {
			result.Related = append(result.Related, sarifLocation{sarifPlace(related.Pos), &sarifText{related.Message}})
		}
		run.Results = append(run.Results, result)
	}
	return JSON(out, sarifLog{"https://json.schemastore.org/sarif-2.1.0.json", "2.1.0", []sarifRun{run}})
}

func sarifPlace(pos diag.Pos) sarifPhysical {
	return sarifPhysical{sarifArtifact{pos.File}, sarifRegion{pos.Line, pos.Column, pos.EndLine, pos.EndColumn}}
}

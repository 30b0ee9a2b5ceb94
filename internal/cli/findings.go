package cli

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/flowrun/flowrun/engine/diag"
)

// githubLine is a problem as a workflow command of GitHub Actions.
func githubLine(p diag.Problem) string {
	message := p.Message
	if p.Hint.Text != "" {
		message += "; " + p.Hint.Text
	}
	text := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	property := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
	place := "file=" + property.Replace(p.File)
	if p.Line > 0 {
		place += fmt.Sprintf(",line=%d,col=%d", p.Line, p.Column)
	}
	if p.EndLine > 0 {
		place += fmt.Sprintf(",endLine=%d,endColumn=%d", p.EndLine, p.EndColumn)
	}
	return fmt.Sprintf("::%s %s,title=%s::%s", p.Severity, place, p.Code, text.Replace(message))
}

// object is a JSON object of a SARIF log.
type object = map[string]any

// sarif returns the problems as a SARIF 2.1.0 log, with a rule for each code
// that occurs.
func sarif(problems diag.List, version string) any {
	pages := map[string]diag.Page{}
	for _, page := range diag.Pages() {
		pages[page.Code] = page
	}
	results, rules, ruleIndex := []object{}, []object{}, map[string]int{}
	for _, p := range problems {
		if _, ok := ruleIndex[p.Code]; !ok {
			ruleIndex[p.Code] = len(rules)
			rules = append(rules, sarifRule(p.Code, pages[p.Code]))
		}
		text := p.Message
		if p.Hint.Text != "" {
			text += "; " + p.Hint.Text
		}
		result := object{
			"ruleId": p.Code, "ruleIndex": ruleIndex[p.Code], "level": string(p.Severity), "message": object{"text": text},
			"locations": []object{{"physicalLocation": sarifPlace(p.Pos)}},
		}
		var related []object
		for i, r := range p.Related {
			related = append(related, object{"id": i + 1, "physicalLocation": sarifPlace(r.Pos), "message": object{"text": r.Message}})
		}
		if related != nil {
			result["relatedLocations"] = related
		}
		if p.Mend != nil {
			result["fixes"] = []object{sarifFix(p)}
		}
		results = append(results, result)
	}
	driver := object{"name": "flowrun", "rules": rules}
	if version != "" {
		driver["version"] = version
	}
	return object{
		"$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0",
		"runs": []object{{"tool": object{"driver": driver}, "results": results, "columnKind": "unicodeCodePoints"}},
	}
}

// sarifFix is a problem's mend.
func sarifFix(p diag.Problem) object {
	replacements := []object{}
	for _, e := range p.Mend.Edits {
		replacements = append(replacements, object{
			"deletedRegion":   object{"startLine": e.Line, "startColumn": e.Column, "endLine": e.EndLine, "endColumn": e.EndColumn},
			"insertedContent": object{"text": e.New},
		})
	}
	text := p.Hint.Text
	if text == "" {
		text = "mend: " + p.Message
	}
	return object{
		"description":     object{"text": text},
		"artifactChanges": []object{{"artifactLocation": sarifPlace(diag.Pos{File: p.File})["artifactLocation"], "replacements": replacements}},
	}
}

func sarifRule(code string, page diag.Page) object {
	rule := object{"id": code}
	if page.Title != "" {
		rule["shortDescription"] = object{"text": page.Title}
		text, _ := diag.Explain(code)
		rule["help"] = object{"text": text}
	}
	return rule
}

// sarifPlace is a place; one without a line is the whole file.
func sarifPlace(pos diag.Pos) object {
	place := object{"artifactLocation": object{"uri": (&url.URL{Path: strings.ReplaceAll(pos.File, "\\", "/")}).String()}}
	if pos.Line < 1 {
		return place
	}
	region := object{"startLine": pos.Line, "startColumn": max(pos.Column, 1)}
	if pos.EndLine > 0 {
		region["endLine"], region["endColumn"] = pos.EndLine, pos.EndColumn
	}
	place["region"] = region
	return place
}

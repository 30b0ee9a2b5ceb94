package cli

import (
	"fmt"
	"strings"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/upgrade"
	"github.com/flowrun/flowrun/internal/cli/term"
	"github.com/flowrun/flowrun/internal/cli/view"
)

func (a *app) printUpgrade(report *upgrade.Report) error {
	if a.output == "sarif" {
		return view.JSON(a.sys.Stdout, upgradeSarif(report, a.sys.Version))
	}
	return a.print(report, func() { a.upgradeText(report) })
}

func (a *app) upgradeText(r *upgrade.Report) {
	name := func(revision upgrade.Revision) string {
		return fmt.Sprintf("%s (%.12s)", revision.Version, revision.Digest)
	}
	a.say("%s %s, now %s", r.Plugin, term.Clean(name(r.To)), term.Clean(name(r.From)))
	if r.From.Digest == r.To.Digest {
		a.say("it is the same: nothing would change")
		return
	}
	a.changesText("breaks:", r.Changes, func(c upgrade.Change) bool { return c.Breaks })
	a.changesText("works, but otherwise, or goes on as before:", r.Changes, func(c upgrade.Change) bool { return !c.Breaks })
	a.changesText("hits nobody here:", r.Others, func(upgrade.Change) bool { return true })
	if len(r.Changes)+len(r.Others) == 0 {
		a.say("it says the same of itself")
	}
	a.say("looked at %s, %s and %s", diag.Count(r.Looked.Workflows, "workflow"), diag.Count(r.Looked.Tests, "test file"), diag.Count(r.Looked.Runs, "open run"))
}

func (a *app) changesText(title string, changes []upgrade.Change, which func(upgrade.Change) bool) {
	for _, change := range changes {
		if !which(change) {
			continue
		}
		if title != "" {
			a.say("%s", title)
			title = ""
		}
		subject := change.Action
		if subject != "" {
			subject += ": "
		}
		a.say("  %s", term.Clean(subject+change.Message))
		for _, hit := range change.Hits {
			a.say("    %s", term.Clean(hitText(hit)))
		}
	}
}

// hitText is a hit on one line: where, what, and what to do.
func hitText(h upgrade.Hit) string {
	var text strings.Builder
	if h.Run != "" {
		fmt.Fprintf(&text, "run %s (%s), step %s: ", h.Run, h.Workflow, h.Step)
	} else if h.Line > 0 {
		text.WriteString(h.Pos.String() + ": ")
	} else if h.File != "" {
		text.WriteString(h.File + ": ")
	}
	if h.Keeps != "" {
		fmt.Fprintf(&text, "goes on with its own revision, %s", h.Keeps)
		return text.String()
	}
	text.WriteString(h.Message)
	if h.Hint.Text != "" {
		text.WriteString("; " + h.Hint.Text)
	}
	return text.String()
}

// upgradeSarif is a report as a SARIF 2.1.0 log: a result for each hit, with a rule for
// each kind of change. Runs have no file; they are logical places.
func upgradeSarif(r *upgrade.Report, version string) any {
	results, rules, ruleIndex := []object{}, []object{}, map[string]int{}
	for _, change := range r.Changes {
		if _, ok := ruleIndex[change.Rule]; !ok {
			ruleIndex[change.Rule] = len(rules)
			rules = append(rules, object{"id": change.Rule, "shortDescription": object{"text": "a plugin's next revision: " + strings.ReplaceAll(change.Rule, "-", " ")}})
		}
		subject := change.Action
		if subject == "" {
			subject = r.Plugin
		}
		for _, hit := range change.Hits {
			level := "error"
			switch {
			case hit.Keeps != "":
				level = "note"
			case !hit.Breaks:
				level = "warning"
			}
			result := object{
				"ruleId": change.Rule, "ruleIndex": ruleIndex[change.Rule], "level": level,
				"message": object{"text": subject + ": " + change.Message + " (" + r.To.Version + "): " + withoutPlace(hit)},
			}
			location := object{}
			if hit.Run != "" {
				location["logicalLocations"] = []object{{"kind": "run", "name": hit.Step, "fullyQualifiedName": hit.Run + "/" + hit.Step}}
			} else if hit.File != "" {
				location["physicalLocation"] = sarifPlace(hit.Pos)
			}
			result["locations"] = []object{location}
			results = append(results, result)
		}
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

// withoutPlace is a hit's text alone.
func withoutPlace(h upgrade.Hit) string {
	if h.Run == "" {
		h.Pos = diag.Pos{}
	}
	return hitText(h)
}

package page

import (
	"fmt"
	"html/template"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/workspace"
)

// funcs are what templates call.
func (s *site) funcs() template.FuncMap {
	return template.FuncMap{
		"asset":       s.assetURL,
		"icon":        icon,
		"status":      statusPill,
		"stepMark":    stepMark,
		"warnMark":    warnMark,
		"runText":     runText,
		"when":        s.when,
		"slot":        s.slot,
		"rich":        s.rich,
		"richText":    s.richText,
		"belowTitle":  func() int { return belowTitle },
		"ago":         s.ago,
		"span":        span,
		"took":        runDuration,
		"ms":          func(ms int64) string { return duration(time.Duration(ms) * time.Millisecond) },
		"cli":         s.command,
		"logsCLI":     s.logsCommand,
		"shortID":     shortID,
		"runURL":      runURL,
		"stepURL":     stepURL,
		"plural":      plural,
		"pretty":      workspace.ReadableJSON,
		"oneline":     oneLine,
		"args":        func(values ...any) []any { return values },
		"labels":      labelList,
		"clock":       s.clock,
		"clockIn":     clockIn,
		"tone":        func(status any) string { return toneOf(fmt.Sprint(status)) },
		"waitText":    waitText,
		"scheduleURL": scheduleURL,
		"asText":      func(value any) string { return fmt.Sprint(value) },
	}
}

// icon is a picture of the sprite in the layout. It says nothing: the text beside
// it does.
func icon(name string) template.HTML {
	return template.HTML(`<svg class="i" aria-hidden="true"><use href="#i-` + template.HTMLEscapeString(name) + `"/></svg>`) //nolint:gosec // the name is escaped
}

// marks are the icons and colours of all statuses: of runs, steps and whatever
// else has the words of one of them.
var marks = map[string]struct{ icon, tone string }{
	"succeeded": {"ok", "ok"}, "failed": {"bad", "bad"}, "timed_out": {"late", "bad"}, "running": {"run", "run"},
	"waiting": {"wait", "wait"}, "retrying": {"retry", "wait"}, "queued": {"queue", "calm"}, "paused": {"pause", "hold"},
	"canceled": {"stop", "calm"}, "skipped": {"skip", "calm"}, "blocked": {"block", "calm"}, "pending": {"todo", "calm"},
	"unknown": {"ask", "hold"},
}

// markOf is the mark of a status, and its word for people.
func markOf(status any) (icon, tone string, words template.HTML) {
	text := fmt.Sprint(status)
	mark, ok := marks[text]
	if !ok {
		mark.icon, mark.tone = "todo", "calm"
	}
	return mark.icon, mark.tone, template.HTML(template.HTMLEscapeString(strings.ReplaceAll(text, "_", " "))) //nolint:gosec // escaped
}

// toneOf is the colour that a status has in the style sheet.
func toneOf(status string) string {
	_, tone, _ := markOf(status)
	return tone
}

// statusPill shows a status: a mark, its word and its colour.
func statusPill(status any) template.HTML {
	name, tone, words := markOf(status)
	return template.HTML(fmt.Sprintf(`<span class="pill t-%s">%s%s</span>`, tone, icon(name), words)) //nolint:gosec // the words are escaped
}

// stepMark is the mark of a status alone, with the word for those who don't see
// it.
func stepMark(status any) template.HTML {
	name, tone, words := markOf(status)
	return template.HTML(fmt.Sprintf(`<span class="mark t-%s" title="%s">%s<span class="sr">%s</span></span>`, tone, words, icon(name), words)) //nolint:gosec // the words are escaped
}

// warnMark is the mark of a loop that ended well though items of it failed.
func warnMark() template.HTML {
	const words = "succeeded, but items failed"
	return `<span class="mark t-wait" title="` + words + `">` + icon("late") + `<span class="sr">` + words + `</span></span>`
}

// pauseTexts say in a few words why a run is paused.
var pauseTexts = map[string]string{
	runs.PausedAuthRequired:   "a login is needed",
	runs.PausedUnknownOutcome: "an outcome is not known",
	runs.PausedError:          "a step failed",
	runs.PausedCrashLoop:      "a call keeps crashing",
	runs.PausedReplayMismatch: "its journal does not fit this version",
	runs.PausedTooLarge:       "its journal is too large to be read",
}

// runText is what is worth knowing of a run in a list, beside its status.
func runText(run runs.Run) string {
	switch {
	case run.Undriven:
		return "no process drives it"
	case run.Status == runs.RunPaused && pauseTexts[run.Paused] != "":
		return pauseTexts[run.Paused]
	case run.StateOf() == runs.SlotQueued:
		return "waits for its place: " + run.Slot.Key
	case run.Error != nil:
		return oneLine(errorText(run.Error))
	case run.RerunOf != "":
		return "rerun of " + shortID(run.RerunOf)
	}
	return ""
}

func errorText(e *runs.Error) string {
	if e.Step != "" {
		return e.Step + ": " + e.Message
	}
	return e.Message
}

// shortID is the end of a run's id, which differs from those of its neighbours.
func shortID(id string) string {
	if len(id) <= 8 {
		return id
	}
	return id[len(id)-8:]
}

func runURL(id string) string { return "/runs/" + url.PathEscape(id) }

func stepURL(run, step string) string { return runURL(run) + "/steps/" + url.PathEscape(step) }

// command is the command line that does the same as the page, ready for a shell.
// A list among the arguments stands for its parts.
func (s *site) command(args ...any) string {
	if len(args) == 1 {
		if list, ok := args[0].([]any); ok {
			args = list
		}
	}
	parts := []string{"flowrun"}
	for _, arg := range args {
		if text := fmt.Sprint(arg); text != "" {
			parts = append(parts, diag.ShellWord(text))
		}
	}
	for _, flag := range s.Flags {
		parts = append(parts, diag.ShellWord(flag))
	}
	return strings.Join(parts, " ")
}

// plural counts: "1 step", "2 steps".
func plural(count int, thing string) string {
	if count == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", count, thing)
}

// oneLine is a text without line breaks, at most 160 letters of it.
func oneLine(text string) string {
	letters := []rune(strings.Join(strings.Fields(text), " "))
	if len(letters) > 160 {
		return strings.TrimRight(string(letters[:159]), " ") + "…"
	}
	return string(letters)
}

// labelList is a run's labels in the order of their names.
func labelList(labels map[string]string) []string {
	list := []string{}
	for name, value := range labels {
		list = append(list, name+"="+value)
	}
	slices.Sort(list)
	return list
}

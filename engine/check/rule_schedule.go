package check

import (
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/duration"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/schedule/cron"
	"github.com/flowrun/flowrun/engine/spec"
)

const defaultCatchup = time.Hour

// schedule checks a cron or every trigger (docs/language.md, rule 17).
func (t *trigger) schedule(key *spec.Key, kind spec.Pair) {
	c := t.c
	out := &plan.Schedule{
		Timezone: "UTC", Skipped: string(cron.RunAfter), Repeated: string(cron.RunOnce),
		Catchup: plan.Catchup{Window: defaultCatchup, Keep: "latest"},
	}
	t.out.Schedule = out
	switch {
	case kind.Value.Bad:
	case kind.Value.IsNull():
		c.noValue(kind)
	case t.out.Kind == plan.TriggerCron:
		c.cron(kind.Value, &out.Cron)
	default:
		into(&out.Every, c.duration)(key, kind.Value)
	}
}

// cron checks the five fields; what is wrong is shown at the field.
func (c *checker) cron(node *spec.Node, into *string) {
	if !c.scalar(node, "a schedule of five fields") {
		return
	}
	_, err := cron.Parse(node.Text)
	if problem, ok := errors.AsType[*cron.Error](err); ok {
		c.errorAt(node.Span(problem.Start, problem.End), CodeCron, "%s", problem.Message).Hint = problem.Hint
		return
	}
	*into = node.Text
}

func (c *checker) timezone(node *spec.Node, into *string) {
	if !c.scalar(node, "a time zone") {
		return
	}
	if _, ok := location(node.Text); ok {
		*into = node.Text
		return
	}
	c.errorAt(node.Pos, CodeTimezone, "`%s` is not a time zone", node.Text).Hint = zoneHint(node.Text)
}

// location loads a zone by its IANA name.
func location(name string) (*time.Location, bool) {
	if name == "" || name == "Local" {
		return nil, false
	}
	zone, err := time.LoadLocation(name)
	return zone, err == nil
}

// zoneHint tries the usual spelling of a name, then the best known names.
func zoneHint(name string) diag.Hint {
	parts := strings.FieldsFunc(strings.ReplaceAll(name, " ", "_"), func(r rune) bool { return r == '/' })
	for i, part := range parts {
		words := strings.Split(strings.ToLower(part), "_")
		for j, word := range words {
			if word != "" {
				words[j] = strings.ToUpper(word[:1]) + word[1:]
			}
		}
		parts[i] = strings.Join(words, "_")
	}
	usual := strings.Join(parts, "/")
	for _, try := range []string{usual, strings.ToUpper(name), "Europe/" + usual, "America/" + usual, "Asia/" + usual} {
		if _, ok := location(try); ok {
			return diag.Meant(try)
		}
	}
	if near := diag.DidYouMean(usual, knownZones()); near.Text != "" {
		return near
	}
	return diag.Say("write a name such as Europe/Berlin or America/New_York; without `timezone` it is UTC")
}

// knownZones are the names that spelling mistakes are compared with.
func knownZones() []string {
	return []string{
		"UTC", "Europe/London", "Europe/Berlin", "Europe/Paris", "Europe/Madrid", "Europe/Rome", "Europe/Vienna", "Europe/Zurich", "Europe/Amsterdam",
		"Europe/Brussels", "Europe/Stockholm", "Europe/Oslo", "Europe/Copenhagen", "Europe/Helsinki", "Europe/Warsaw", "Europe/Prague", "Europe/Athens",
		"Europe/Istanbul", "Europe/Moscow", "America/New_York", "America/Chicago", "America/Denver", "America/Los_Angeles", "America/Toronto",
		"America/Mexico_City", "America/Sao_Paulo", "America/Buenos_Aires", "Asia/Shanghai", "Asia/Tokyo", "Asia/Singapore", "Asia/Hong_Kong",
		"Asia/Kolkata", "Asia/Dubai", "Asia/Seoul", "Asia/Jerusalem", "Africa/Cairo", "Africa/Johannesburg", "Africa/Lagos", "Australia/Sydney",
		"Australia/Melbourne", "Pacific/Auckland",
	}
}

func (c *checker) jitter(key *spec.Key, node *spec.Node, out *plan.Schedule) {
	d, ok := c.duration(key, node)
	if ok && out.Every > 0 && d > out.Every {
		c.errorAt(node.Pos, CodeDuration, "the jitter %s is longer than the %s between two slots", node.Text, duration.Text(out.Every))
		return
	}
	out.Jitter = d
}

// memberOf returns one member of a JSON object.
func memberOf(data json.RawMessage, name string) json.RawMessage {
	members := map[string]json.RawMessage{}
	if json.Unmarshal(data, &members) != nil {
		return nil
	}
	return members[name]
}

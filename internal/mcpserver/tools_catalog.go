package mcpserver

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/flowrun/flowrun/engine"
	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/order"
	"github.com/flowrun/flowrun/engine/workspace"
	"github.com/flowrun/flowrun/internal/web"
	"github.com/flowrun/flowrun/internal/web/wire"
)

type explainInput struct {
	Topic string `json:"topic" jsonschema:"a code, an action, a function or a key"`
}

type explainOutput struct {
	Kind string `json:"kind" jsonschema:"code, action, function or key"`
	Text string `json:"text"`
}

// maxExplained bounds the text of an explanation.
const maxExplained = 48 << 10

func explain(ctx context.Context, c call, in explainInput) (*explainOutput, error) {
	topic := strings.TrimSuffix(strings.TrimSpace(in.Topic), "()")
	if topic == "" || len(topic) > 400 {
		return nil, errors.New("topic is a code such as FR2004, an action such as netinfo.whois, a function or a key")
	}
	if text, ok := diag.Explain(strings.ToUpper(topic)); ok {
		return &explainOutput{"code", text}, nil
	}
	for _, function := range workspace.Functions() {
		if function.Name == topic {
			return &explainOutput{"function", fmt.Sprintf("%s\n%s\nexample: %s\n", function.Signature, function.Doc, function.Example)}, nil
		}
	}
	plugin, action, dotted := strings.Cut(topic, ".")
	keys, near := workspace.ExplainKey(topic)
	if dotted && action != "" && (len(keys) == 0 || strings.Count(topic, ".") == 1) { // an action has the first right to a name with one dot
		detail, err := c.action(ctx, plugin, action)
		if err == nil {
			return &explainOutput{"action", cutText(actionText(detail), maxExplained)}, nil
		}
		if len(keys) == 0 {
			return nil, err
		}
	}
	if len(keys) > 0 {
		return &explainOutput{"key", cutText(keysText(keys), maxExplained)}, nil
	}
	names := diag.NamesOf(workspace.Functions(), func(function workspace.FunctionDoc) string { return function.Name })
	for _, page := range diag.Pages() {
		names = append(names, page.Code)
	}
	hint := diag.DidYouMean(topic, append(names, near)).Text
	return nil, fmt.Errorf("there is no code, action, function or key %q; %s", topic, cmp.Or(hint, "actions_search finds actions"))
}

// action asks for an action; one that does not exist is told with those that are like it.
func (c call) action(ctx context.Context, plugin, action string) (detail *web.ActionDetail, err error) {
	var items []web.ActionItem
	err = c.Lend(ctx, NeedFiles, func(ctx context.Context, client *web.Client) (err error) {
		if items, err = client.Actions(ctx, plugin); err != nil {
			return err
		}
		names := diag.NamesOf(items, func(item web.ActionItem) string { return item.Action })
		if name := plugin + "." + action; !slices.Contains(names, name) {
			return fmt.Errorf("there is no action %q; %s", name, cmp.Or(diag.DidYouMean(name, names).Text, "actions_search finds actions"))
		}
		detail, err = client.Action(ctx, plugin, action)
		return err
	})
	if problem, ok := errors.AsType[*web.Problem](err); ok && problem.Code == wire.CodeNotFound {
		return nil, fmt.Errorf("there is no action %q: %s; actions_search finds actions", plugin+"."+action, problem.Detail)
	}
	return detail, err
}

// actionText is an action as text, with a step to paste.
func actionText(detail *web.ActionDetail) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s (effect: %s)\n%s\n", detail.ActionItem.Action, detail.Effect, detail.Doc)
	if detail.Deprecated != "" {
		b.WriteString("deprecated: " + detail.Deprecated + "\n")
	}
	for _, part := range []struct {
		name   string
		fields []workspace.FieldDoc
	}{{"inputs", detail.Inputs}, {"outputs", detail.Outputs}} {
		b.WriteString("\n" + part.name + ":\n")
		for _, field := range part.fields {
			b.WriteString(fieldText(field))
		}
		if len(part.fields) == 0 {
			b.WriteString("  none\n")
		}
	}
	if detail.Paging != nil || detail.Incremental || detail.Range != nil {
		b.WriteString("\nit has pages, a range or a cursor: see paging in flowrun://docs/language\n")
	}
	b.WriteString("\na step:\n" + detail.Step)
	return b.String()
}

func fieldText(field workspace.FieldDoc) string {
	text := "  " + field.Name + ": " + field.Type
	if field.Required {
		text += ", required"
	}
	for _, part := range [][2]string{{"default ", field.Default}, {"one of ", field.Values}, {"", field.Bounds}} {
		if part[1] != "" {
			text += ", " + part[0] + part[1]
		}
	}
	if field.Secret {
		text += ", secret"
	}
	if field.Doc != "" {
		text += " - " + field.Doc
	}
	return text + "\n"
}

func keysText(keys []workspace.KeyDoc) string {
	var b strings.Builder
	for i, key := range keys {
		if i > 0 {
			b.WriteString("\n")
		}
		fmt.Fprintf(&b, "%s: %s\n%s\n", key.Path, key.Value, key.Doc)
		for _, part := range [][2]string{
			{"one of", strings.Join(key.Words, ", ")}, {"default", key.Default}, {"of", strings.Join(key.Kinds, ", ")}, {"holds", strings.Join(key.Keys, ", ")}, {"example", key.Example},
		} {
			if part[1] != "" {
				fmt.Fprintf(&b, "%s: %s\n", part[0], part[1])
			}
		}
	}
	return b.String()
}

type searchInput struct {
	Query  string `json:"query,omitempty" jsonschema:"words that the name or the description has"`
	Plugin string `json:"plugin,omitempty" jsonschema:"only of this plugin; core holds the engine's own"`
	Limit  int    `json:"limit,omitempty" jsonschema:"how many are given, at most 100; 20 where it is not given"`
}

type searchOutput struct {
	Actions []foundAction  `json:"actions" jsonschema:"the best first"`
	Found   int            `json:"found" jsonschema:"how many there are"`
	Broken  []brokenPlugin `json:"broken,omitempty" jsonschema:"plugins that could not be asked"`
}

type foundAction struct {
	Action     string `json:"action"`
	Doc        string `json:"doc,omitempty"`
	Effect     string `json:"effect" jsonschema:"read; idempotent: repeating does no harm; keyed: repeated under one key; once: never repeated"`
	Deprecated string `json:"deprecated,omitempty"`
}

type brokenPlugin struct {
	Plugin string `json:"plugin"`
	Error  string `json:"error"`
}

func searchActions(ctx context.Context, c call, in searchInput) (*searchOutput, error) {
	if in.Limit < 0 || in.Limit > 100 || len(in.Query) > 400 {
		return nil, errors.New("limit is from 1 to 100, and query at most 400 letters")
	}
	out := &searchOutput{Actions: []foundAction{}}
	var items []web.ActionItem
	err := c.Lend(ctx, NeedFiles, func(ctx context.Context, client *web.Client) error {
		names := []string{in.Plugin}
		items, out.Broken = nil, nil // where this is asked again
		if in.Plugin == "" {
			infos, err := client.Plugins(ctx)
			if err != nil {
				return err
			}
			names = append(diag.NamesOf(infos, func(info workspace.PluginInfo) string { return info.Name }), "core")
		}
		for _, name := range names {
			of, err := client.Actions(ctx, name)
			if err != nil && in.Plugin == "" && ctx.Err() == nil {
				out.Broken = append(out.Broken, brokenPlugin{name, cutText(failureText(err), 500)})
				continue
			}
			if err != nil {
				return err
			}
			items = append(items, of...)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	best := ranked(items, in.Query)
	out.Found = len(best)
	for _, item := range best[:min(len(best), cmp.Or(in.Limit, 20))] {
		doc, _, _ := strings.Cut(item.Doc, "\n")
		out.Actions = append(out.Actions, foundAction{item.Action, cutText(doc, 300), string(item.Effect), cutText(item.Deprecated, 200)})
	}
	return out, nil
}

// ranked returns the actions that have all words, those first that have them in their
// names.
func ranked(items []web.ActionItem, query string) []web.ActionItem {
	words := strings.FieldsFunc(strings.ToLower(query), func(r rune) bool { return r == ' ' || r == '.' || r == '_' || r == '-' || r == '/' })
	scores := map[string]int{}
	var found []web.ActionItem
	for _, item := range items {
		name, doc, score, all := strings.ToLower(item.Action), strings.ToLower(item.Doc), 0, true
		for _, word := range words {
			switch {
			case strings.Contains(name, word):
				score += 3
			case strings.Contains(doc, word):
				score++
			default:
				all = false
			}
		}
		if strings.EqualFold(item.Action, strings.TrimSpace(query)) {
			score += 1000
		}
		if all {
			scores[item.Action] = score
			found = append(found, item)
		}
	}
	order.Sort(found, func(a, b web.ActionItem) int {
		return cmp.Or(cmp.Compare(scores[b.Action], scores[a.Action]), cmp.Compare(a.Action, b.Action))
	})
	return found
}

type workflowsInput struct {
	Name string `json:"name,omitempty" jsonschema:"one workflow, with inputs and source"`
}

type workflowsOutput struct {
	Workflows []workflowItem `json:"workflows"`
	More      int            `json:"more,omitempty" jsonschema:"how many are not listed: ask for them by name"`
}

type workflowItem struct {
	Name        string          `json:"name"`
	File        string          `json:"file"`
	Description string          `json:"description,omitempty"`
	Steps       int             `json:"steps"`
	Triggers    []string        `json:"triggers,omitempty"`
	Stale       bool            `json:"stale,omitempty" jsonschema:"the file is broken: its last good revision runs"`
	Problems    []finding       `json:"problems,omitempty"`
	LastRun     *lastRun        `json:"last_run,omitempty"`
	Inputs      json.RawMessage `json:"inputs,omitempty" jsonschema:"JSON Schema"`
	Outputs     json.RawMessage `json:"outputs,omitempty" jsonschema:"JSON Schema"`
	Source      string          `json:"source,omitempty"`
}

type lastRun struct {
	Run     string `json:"run"`
	Status  string `json:"status"`
	Started string `json:"started"`
	Error   string `json:"error,omitempty"`
}

func workflows(ctx context.Context, c call, in workflowsInput) (*workflowsOutput, error) {
	out := new(workflowsOutput)
	err := c.Lend(ctx, NeedAny, func(ctx context.Context, client *web.Client) error {
		*out = workflowsOutput{Workflows: []workflowItem{}} // where this is asked again
		if in.Name == "" {
			list, err := client.Workflows(ctx)
			for _, info := range list {
				if len(out.Workflows) == maxSteps {
					out.More++
					continue
				}
				out.Workflows = append(out.Workflows, newWorkflowItem(info, ""))
			}
			return err
		}
		detail, err := client.Workflow(ctx, in.Name)
		if err != nil {
			return err
		}
		item := newWorkflowItem(detail.WorkflowInfo, detail.Source)
		item.Inputs, item.Outputs, item.Source = fittingValue(detail.Inputs, maxValue), fittingValue(detail.Outputs, maxValue), cutText(detail.Source, maxSource)
		out.Workflows = append(out.Workflows, item)
		return nil
	})
	return out, err
}

func newWorkflowItem(info engine.WorkflowInfo, source string) workflowItem {
	sources := map[string]string{}
	if source != "" {
		sources[info.File] = source
	}
	item := workflowItem{
		Name: info.Name, File: info.File, Description: cutText(info.Description, 1000), Steps: info.Steps, Stale: info.Stale, Problems: findings(info.Problems, sources),
	}
	item.Problems = item.Problems[:min(len(item.Problems), 5)]
	for _, trigger := range info.Triggers {
		item.Triggers = append(item.Triggers, trigger.Name+": "+trigger.Text)
	}
	if run := info.LastRun; run != nil {
		item.LastRun = &lastRun{Run: run.ID, Status: string(run.Status), Started: run.StartedAt.UTC().Format(time.RFC3339)}
		if run.Error != nil {
			item.LastRun.Error = cutText(run.Error.Message, 500)
		}
	}
	return item
}

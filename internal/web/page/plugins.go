package page

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/workspace"
)

// corePlugin is the name of the built-in actions, which no plugin has.
const corePlugin = "core"

// pluginsData is what the list of plugins shows.
type pluginsData struct {
	Plugins []workspace.PluginInfo
	Core    int // actions that are built in
	Query   string
	Found   []actionRow // of all plugins, when something is searched for
	More    int         // that were found and are not shown
}

// actionRow is one action in a list.
type actionRow struct {
	Name   string // full
	URL    string
	Doc    string // its first sentence
	Effect plan.Effect
	Old    string // why it is deprecated
}

// foundShown bounds what a search shows.
const foundShown = 60

func (s *site) plugins(r *http.Request) (*screen, error) {
	core, err := s.Catalog.Actions(r.Context(), corePlugin)
	if err != nil {
		return nil, err
	}
	data := pluginsData{Plugins: s.Catalog.Plugins(r.Context()), Core: len(core), Query: strings.TrimSpace(r.URL.Query().Get("q"))}
	if data.Query != "" {
		all := core
		for _, plugin := range data.Plugins {
			actions, err := s.Catalog.Actions(r.Context(), plugin.Name)
			if err != nil {
				continue // the list says why it can't be described
			}
			all = append(all[:len(all):len(all)], actions...)
		}
		rows := actionRows(all, data.Query)
		data.More = max(0, len(rows)-foundShown)
		data.Found = rows[:len(rows)-data.More]
	}
	return &screen{Title: "Plugins", Nav: "/plugins", Template: "plugins", Data: data}, nil
}

// actionRows lists the actions that have the word, all of them without one.
func actionRows(actions []*plan.Action, query string) []actionRow {
	word := strings.ToLower(query)
	var rows []actionRow
	for _, action := range actions {
		if word != "" && !contains(word, action.FullName(), action.Doc) {
			continue
		}
		rows = append(rows, actionRow{
			Name: action.FullName(), URL: actionURL(action.Plugin, action.Name), Doc: firstSentence(action.Doc), Effect: action.Effect, Old: action.Deprecated,
		})
	}
	return rows
}

// firstSentence is what a list says of a text.
func firstSentence(text string) string {
	text = oneLine(text)
	if before, _, ok := strings.Cut(text, ". "); ok {
		return before + "."
	}
	return text
}

// pluginData is what the page of one plugin shows.
type pluginData struct {
	workspace.PluginInfo
	Query   string
	Actions []actionRow
	All     int
}

func (s *site) plugin(r *http.Request) (*screen, error) {
	name := r.PathValue("plugin")
	data := &pluginData{PluginInfo: workspace.PluginInfo{Name: corePlugin, Doc: "The actions that are built in.", Source: "built in"}, Query: strings.TrimSpace(r.URL.Query().Get("q"))}
	if name != corePlugin {
		all := s.Catalog.Plugins(r.Context())
		at := slices.IndexFunc(all, func(info workspace.PluginInfo) bool { return info.Name == name })
		if at < 0 {
			return nil, notFound("plugin", name)
		}
		data.PluginInfo = all[at]
	}
	if data.Error == "" {
		actions, err := s.Catalog.Actions(r.Context(), name)
		if err != nil {
			return nil, err
		}
		data.All, data.Actions = len(actions), actionRows(actions, data.Query)
	}
	return &screen{Title: "Plugin " + name, Nav: "/plugins", Template: "plugin", Data: data}, nil
}

// actionData is what the page of one action shows.
type actionData struct {
	*plan.Action
	workspace.ActionDoc
	Effects string // what its effect means
	Limits  []string
	Time    string // the default timeout
	Longest string // of its range
	Flow    string // how its pages are read
}

// effectTexts say what a repeated call does.
var effectTexts = map[plan.Effect]string{
	plan.EffectRead:       "It only reads: free to repeat and to cache.",
	plan.EffectIdempotent: "Doing it twice is like doing it once.",
	plan.EffectKeyed:      "Safe to repeat with the same idempotency key, which flowrun sends.",
	plan.EffectOnce:       "Not safe to repeat: a lost answer pauses the run, unless the plugin can tell what happened.",
}

func (s *site) pluginAction(r *http.Request) (*screen, error) {
	plugin, name := r.PathValue("plugin"), r.PathValue("action")
	actions, err := s.Catalog.Actions(r.Context(), plugin)
	if err != nil {
		return nil, err
	}
	at := slices.IndexFunc(actions, func(action *plan.Action) bool { return action.Name == name })
	if at < 0 {
		return nil, notFound("action", plugin+"."+name)
	}
	action, err := s.Catalog.Action(actions[at].FullName())
	if err != nil {
		return nil, err
	}
	doc, err := workspace.DescribeAction(action)
	if err != nil {
		return nil, err
	}
	data := &actionData{Action: action, ActionDoc: doc, Effects: effectTexts[action.Effect], Limits: limitTexts(action.Limiters)}
	if action.DefaultTimeout > 0 {
		data.Time = duration(action.DefaultTimeout)
	}
	if action.Range != nil {
		data.Longest = fmt.Sprintf("%s to %s spans at most %s; with `paginate` a longer one is cut", action.Range.FromField, action.Range.ToField, days(action.Range.Max))
	}
	if action.Paging != nil {
		data.Flow = "with `paginate` all pages are read; without it, one"
	}
	return &screen{Title: action.FullName(), Nav: "/plugins", Template: "action", Data: data}, nil
}

// days writes a span that is counted in days as such.
func days(d time.Duration) string {
	const day = 24 * time.Hour
	if d >= day && d%day == 0 {
		return plural(int(d/day), "day")
	}
	return duration(d)
}

// limitTexts say which limits an action is under.
func limitTexts(limiters []plan.Limiter) []string {
	var texts []string
	for _, limit := range limiters {
		text := fmt.Sprintf("%d in %s", limit.Requests, duration(limit.Window))
		if limit.FixedWindow {
			text += ", all at once allowed"
		} else {
			text += ", spread evenly"
		}
		if limit.MaxConcurrent > 0 {
			text += fmt.Sprintf(", %d at a time", limit.MaxConcurrent)
		}
		texts = append(texts, text)
	}
	return texts
}

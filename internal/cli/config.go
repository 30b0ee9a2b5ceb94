package cli

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/workspace"
	"github.com/flowrun/flowrun/internal/cli/term"
	"github.com/flowrun/flowrun/internal/cli/view"
	"github.com/flowrun/flowrun/internal/web"
)

func (a *app) configCommand() *cobra.Command {
	subs := []*cobra.Command{{
		Use: "show", Short: "Show all settings and their origins", Args: exactArgs(),
		Example: "  flowrun config show\n  flowrun config show -o json",
		RunE:    func(*cobra.Command, []string) error { return a.showConfig() },
	}, {
		Use: "paths", Short: "Show the files and folders in use", Args: exactArgs(),
		Example: "  flowrun config paths\n  flowrun config paths --sandbox",
		RunE:    func(*cobra.Command, []string) error { return a.showPaths() },
	}, {
		Use: "explain KEY", Short: "Show where a setting may come from and which origin won", Args: exactArgs("KEY"),
		Example: "  flowrun config explain state\n  flowrun config explain server.listen -o json",
		RunE:    func(_ *cobra.Command, args []string) error { return a.explainConfig(args[0]) },
	}}
	for _, sub := range subs {
		a.sandboxFlag(withText(sub), "as a sandbox run has them")
	}
	return listGroup(&cobra.Command{Use: "config", Short: "What the settings are and where they come from"}, subs)
}

// settingItem is one setting for programs.
type settingItem struct {
	Key    string      `json:"key"`
	Value  string      `json:"value"`
	Source string      `json:"source"`
	Others []candidate `json:"others,omitempty"`
	Asked  []string    `json:"asked,omitempty"` // where the setting may come from, in the order of precedence
}

func (s setting) item() settingItem {
	if len(s.Candidates) == 0 {
		return settingItem{Key: s.Key, Source: "not set"}
	}
	return settingItem{Key: s.Key, Value: s.Candidates[0].Value, Source: s.Candidates[0].Source, Others: s.Candidates[1:]}
}

// allSettings returns the settings of the command line and of flowrun.yaml, by
// key.
func (a *app) allSettings() ([]setting, error) {
	at, err := a.locate()
	if err != nil {
		return nil, err
	}
	all := map[string]setting{}
	for _, own := range a.settings {
		all[own.Key] = own
	}
	all["state"] = withPlace(all["state"], at.stateDir, at.stateSource)
	if at.projectFile != "" && len(all["config"].Candidates) == 0 {
		all["config"] = withPlace(all["config"], at.projectFile, "found upwards from the working directory")
	}
	if address := a.env(listenVariable); address != "" {
		all[listenKey] = setting{Key: listenKey, Candidates: []candidate{{Value: address, Source: listenVariable}}}
	}
	fromFile, err := a.projectSettings(at)
	if err != nil {
		return nil, err
	}
	add := func(key, value, source string) {
		all[key] = setting{Key: key, Candidates: append(all[key].Candidates, candidate{Value: value, Source: source})}
	}
	for _, written := range fromFile {
		add(written.Key, masked(written.Key, written.Value), fmt.Sprintf("%s:%d", a.shownPath(at.projectFile), written.Pos.Line))
	}
	for key, value := range projectDefaults {
		add(key, value, "default")
	}
	return slices.SortedFunc(maps.Values(all), func(x, y setting) int { return strings.Compare(x.Key, y.Key) }), nil
}

// withPlace puts what locate found in front of the other origins.
func withPlace(s setting, value, source string) setting {
	others := slices.DeleteFunc(slices.Clone(s.Candidates), func(c candidate) bool { return c.Source == source })
	s.Candidates = append([]candidate{{Value: value, Source: source}}, others...)
	return s
}

func (a *app) projectSettings(at place) ([]workspace.Setting, error) {
	if at.projectFile == "" {
		return nil, nil
	}
	src, err := os.ReadFile(at.projectFile)
	if err != nil {
		return nil, fmt.Errorf("read the project file: %w", err)
	}
	settings, problems := workspace.ReadSettings(a.shownPath(at.projectFile), src)
	return settings, problems.Err()
}

// masked hides a value that stands in clear where a secret belongs.
func masked(key, value string) string {
	if web.SecretSetting(key, value) {
		return "[redacted]"
	}
	return value
}

func (a *app) showConfig() error {
	settings, err := a.allSettings()
	if err != nil {
		return err
	}
	items := []settingItem{}
	table := view.Table{Head: []string{"KEY", "VALUE", "FROM"}}
	for _, setting := range settings {
		item := setting.item()
		item.Others = nil
		items = append(items, item)
		table.Add(term.Clean(item.Key), term.Clean(item.Value), term.Clean(item.Source))
	}
	return a.print(map[string]any{"items": items, "next_cursor": nil}, func() { table.Write(a.sys.Stdout) })
}

func (a *app) explainConfig(key string) error {
	settings, err := a.allSettings()
	if err != nil {
		return err
	}
	at := slices.IndexFunc(settings, func(s setting) bool { return s.Key == key })
	if at < 0 {
		keys := texts(settings, func(s setting) string { return s.Key })
		return notFoundError(fmt.Errorf("there is no setting %q", key), cmp.Or(diag.DidYouMean(key, keys).Text, "`flowrun config show` lists the settings"))
	}
	item := settings[at].item()
	item.Asked = a.askedFor(key)
	return a.print(item, func() { a.printExplanation(settings[at], item.Asked) })
}

// askedFor are the places that are asked for a setting, the first one that knows it wins.
func (a *app) askedFor(key string) []string {
	file := projectFileName
	if at, err := a.locate(); err == nil && at.projectFile != "" {
		file = a.shownPath(at.projectFile)
	}
	for _, own := range ownSettings {
		if own.key != key {
			continue
		}
		places := []string{own.flag, own.env}
		switch key {
		case "config":
			return append(places, "found upwards from the working directory")
		case "state":
			return append(places, "STATE_DIRECTORY", "beside "+projectFileName, a.userConfigFile(), "XDG_STATE_HOME", "default")
		}
		return append(places, a.userConfigFile(), "default")
	}
	if key == listenKey {
		return []string{"--listen", listenVariable, file, "default"}
	}
	if _, ok := projectDefaults[key]; ok {
		return []string{file, "default"}
	}
	return []string{file}
}

func (a *app) printExplanation(s setting, asked []string) {
	out, style := a.sys.Stdout, a.styleOf(a.sys.Stdout)
	if doc := settingDoc(s.Key); doc != "" {
		fmt.Fprintf(out, "%s: %s\n", style.Bold(s.Key), doc)
	}
	if len(s.Candidates) == 0 {
		fmt.Fprintf(out, "%s is not set\n", s.Key)
	}
	for i, from := range s.Candidates {
		mark := "  "
		if i == 0 {
			mark = style.Green("✓ ")
		}
		fmt.Fprintf(out, "%s%s  (%s)\n", mark, term.Clean(from.Value), term.Clean(from.Source))
	}
	places := texts(asked, func(place string) string {
		for _, from := range s.Candidates {
			if from.Source == place || strings.HasPrefix(from.Source, place+":") {
				return term.Clean(place)
			}
		}
		return term.Clean(place) + " (nothing)"
	})
	fmt.Fprintf(out, "%s %s\n", style.Dim("asked, in this order:"), strings.Join(places, ", "))
}

func settingDoc(key string) string {
	for _, own := range ownSettings {
		if own.key == key {
			return fmt.Sprintf("%s; %s, %s", own.doc, own.flag, own.env)
		}
	}
	return ""
}

func (a *app) showPaths() error {
	at, err := a.locate()
	if err != nil {
		return err
	}
	paths := []struct{ name, path string }{
		{"project", cmp.Or(at.projectFile, "none")},
		{"root", at.root},
		{"state", at.stateDir},
		{"store", storePath(at)},
		{"user_config", a.userConfigFile()},
		{"executable", a.sys.Executable},
	}
	object := map[string]string{}
	for _, entry := range paths {
		object[entry.name] = entry.path
	}
	return a.print(object, func() {
		for _, entry := range paths {
			a.say("%s %s", a.styleOf(a.sys.Stdout).Dim(term.Pad(entry.name, 12)), term.Clean(entry.path))
		}
	})
}

package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/flowrun/flowrun/engine/project"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/workspace"
)

// setting is a value with its origin. The first candidate won.
type setting struct {
	Key        string
	Candidates []candidate // in order of precedence
}

// candidate is one origin of a setting that has a value there.
type candidate struct {
	Value  string `json:"value"`
	Source string `json:"source"` // "--color", "FLOWRUN_COLOR", "flowrun.yaml:3", "default"
	user   bool   // it stands in the user's own config file
}

// ownSetting is a setting of the command line itself.
type ownSetting struct {
	key, flag, env, fallback, doc string
}

// ownSettings are those that flowrun.yaml has no word for, with where else they
// may come from. state and config have origins of their own besides.
var ownSettings = []ownSetting{
	{"allow_network_fs", "--allow-network-fs", "FLOWRUN_ALLOW_NETWORK_FS", "false", "accept a state folder on a network file system"},
	{caFileKey, "--ca-file", "FLOWRUN_CA_FILE", "", "certificates of authorities that a server's may be signed by, besides the system's"},
	{"color", "--color", "FLOWRUN_COLOR", "auto", "colours: auto, always or never"},
	{"config", "--config", "FLOWRUN_CONFIG", "", "the flowrun.yaml in use"},
	{"locked", "--locked", "FLOWRUN_LOCKED", "false", "run no plugin that flowrun.lock does not have as it is"},
	{serverKey, "--server", "FLOWRUN_SERVER", "", "the server on another machine that commands act on"},
	{"state", "--state", "FLOWRUN_STATE", "", "the folder of the store"},
	{tokenFileKey, "--token-file", "FLOWRUN_TOKEN_FILE", "", "the file that holds the token of the server"},
	{"utc", "--utc", "FLOWRUN_UTC", "false", "show times in UTC"},
}

// projectDefaults are the settings of flowrun.yaml that have a default.
var projectDefaults = map[string]string{
	"limits.drain":           "25s",
	"limits.max_active_runs": "1000",
	"limits.sandbox":         "auto",
	"retention.keep":         "90d",
	"retention.max_runs":     "1000",
	"retention.max_total":    "100000",
	"secrets":                `["env","store"]`,
	"server.listen":          "127.0.0.1:7070",
	"workflows":              `["workflows"]`,
}

// loadSettings reads the user's own config file and settles the settings of the
// command line.
func (a *app) loadSettings() error {
	user := map[string]candidate{}
	path := a.userConfigFile()
	src, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return fmt.Errorf("read the user's config file: %w", err)
	default:
		values, problems := workspace.ReadSettings(path, src)
		if problems.HasErrors() {
			return problems
		}
		if problems := unknownUserKeys(values); problems.HasErrors() {
			a.printProblemsOf(problems, map[string][]byte{path: src})
			return exitWith(exitInvalid)
		}
		for _, value := range values {
			user[value.Key] = candidate{Value: value.Value, Source: fmt.Sprintf("%s:%d", path, value.Pos.Line), user: true}
		}
	}
	flags := map[string]string{
		"color": a.flags.color, "config": a.flags.config, "state": a.flags.state,
		serverKey: a.flags.server, tokenFileKey: a.flags.tokenFile, caFileKey: a.flags.caFile,
		"utc": trueText(a.flags.utc), "allow_network_fs": trueText(a.flags.allowNetworkFS), "locked": trueText(a.flags.locked),
	}
	a.settings = nil
	for _, own := range ownSettings {
		a.settings = append(a.settings, a.settle(own, flags[own.key], user))
	}
	return a.checkBooleans()
}

// unknownUserKeys reports keys of the user's config file that nothing reads.
func unknownUserKeys(values []workspace.Setting) diag.List {
	var problems diag.List
	keys := userKeys()
	for _, value := range values {
		if slices.Contains(keys, value.Key) {
			continue
		}
		problem := problems.Errorf(value.Pos, project.CodeUnknownKey, "the user's config file has no key `%s`", value.Key)
		problem.Hint = diag.DidYouMean(value.Key, keys)
		problem.Hint = problem.Hint.Or(diag.Say("its keys are " + strings.Join(keys, ", ") + "; all others belong into flowrun.yaml"))
	}
	return problems
}

// userKeys are the settings that the user's config file may hold.
func userKeys() []string {
	var keys []string
	for _, own := range ownSettings {
		if own.key != "config" {
			keys = append(keys, own.key)
		}
	}
	return keys
}

func (a *app) settle(own ownSetting, flag string, user map[string]candidate) setting {
	result := setting{Key: own.key}
	add := func(value, source string) {
		if value != "" {
			result.Candidates = append(result.Candidates, candidate{Value: value, Source: source})
		}
	}
	add(flag, own.flag)
	add(a.env(own.env), own.env)
	if fromUser, ok := user[own.key]; ok && own.key != "config" {
		result.Candidates = append(result.Candidates, fromUser)
	}
	add(own.fallback, "default")
	return result
}

func trueText(set bool) string {
	if set {
		return "true"
	}
	return ""
}

func (a *app) checkBooleans() error {
	for _, key := range []string{"utc", "allow_network_fs", "locked"} {
		first := a.find(key)
		if _, err := strconv.ParseBool(first.Value); err != nil {
			return usageError(fmt.Errorf("%s: %s takes true or false, not %q", first.Source, key, first.Value), "")
		}
	}
	return nil
}

// find returns the winner of a setting, the zero candidate when it has none.
func (a *app) find(key string) candidate {
	at := slices.IndexFunc(a.settings, func(s setting) bool { return s.Key == key })
	if at < 0 || len(a.settings[at].Candidates) == 0 {
		return candidate{}
	}
	return a.settings[at].Candidates[0]
}

func (a *app) stringSetting(key string) string { return a.find(key).Value }

func (a *app) boolSetting(key string) bool {
	value, err := strconv.ParseBool(a.find(key).Value)
	return err == nil && value
}

func (a *app) userConfigFile() string {
	folder := a.env("XDG_CONFIG_HOME")
	if folder == "" {
		folder = filepath.Join(a.env("HOME"), ".config")
	}
	return filepath.Join(folder, "flowrun", "config.yaml")
}

package exec

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/flowrun/flowrun/plugins/content"
	"github.com/flowrun/flowrun/sdk"
)

// Config is a connection's settings.
type Config struct {
	Commands  map[string]Command `json:"commands,omitempty" doc:"The commands that workflows may name, each by a name of its own"`
	Simulated string             `json:"simulated,omitempty" doc:"No command is started, and each answers with its sample; names the sandbox, which sets it"`
}

// Command is the declaration of one command.
type Command struct {
	Argv      []string          `json:"argv" doc:"The program and its arguments; {name} stands for an input" min:"1" max:"1000"`
	Doc       string            `json:"doc,omitempty" doc:"What it does, for people"`
	Effect    string            `json:"effect,omitempty" doc:"Whether it may be repeated; once where it is not said" enum:"read,idempotent,once"`
	Input     sdk.Value         `json:"input,omitempty" doc:"JSON Schema of what it takes, an object; nothing where it is not said"`
	Stdin     string            `json:"stdin,omitempty" doc:"What it reads: json (the input, which is what it gets where nothing is said), none, or a text with {name}"`
	Format    string            `json:"format,omitempty" doc:"What it writes to stdout; json with an answer, else text" enum:"text,lines,json,csv,bytes,none"`
	Answer    sdk.Value         `json:"answer,omitempty" doc:"JSON Schema of the document that it writes, or of one row of CSV"`
	Cwd       string            `json:"cwd,omitempty" doc:"The folder that it runs in, from flowrun.yaml's, which it is where nothing is said"`
	Env       map[string]string `json:"env,omitempty" doc:"Its environment, besides PATH, HOME, TMPDIR, LANG and TZ; {name} stands for an input"`
	SecretEnv map[string]string `json:"secret_env,omitempty" doc:"More of its environment, of secrets" secret:"true"`
	Timeout   string            `json:"timeout,omitempty" doc:"How long it may take, such as 30s; then it is ended with all that it has started"`
	Grace     string            `json:"grace,omitempty" doc:"How long it has between SIGTERM and SIGKILL, at most 30s; 2s where it is not said"`
	Exits     map[string]string `json:"exits,omitempty" doc:"What its exit codes mean: ok, or the kind of a failure with which it has done nothing"`
	AllowDash []string          `json:"allow_dash,omitempty" doc:"Inputs whose values may begin with a dash where they begin an argument"`
	MaxBytes  int64             `json:"max_bytes,omitempty" doc:"The most bytes of stdout; 4194304 where it is not said" min:"1" max:"67108864"`
	Sample    sdk.Value         `json:"sample,omitempty" doc:"What it answers in a sandbox, where it is not started"`
}

// The effects of commands, and the actions that run those of each.
const (
	effectRead       = "read"
	effectIdempotent = "idempotent"
	effectOnce       = "once"
)

// formatNone is of a command whose stdout is for the log.
const formatNone = "none"

// Defaults and bounds of a declaration.
const (
	defaultMaxBytes = 4 << 20
	defaultGrace    = 2 * time.Second
	maxGrace        = 30 * time.Second
	maxTimeout      = 24 * time.Hour
)

// exitOK says that an exit code is a success.
const exitOK = "ok"

// action is the name of the action that runs commands of an effect.
func actionFor(effect string) string {
	return map[string]string{effectRead: "exec.read", effectIdempotent: "exec.apply", effectOnce: "exec.run"}[effect]
}

func (c Config) names() []string { return slices.Sorted(maps.Keys(c.Commands)) }

// command returns a declaration. A simulated connection without any has those of the
// examples.
func (c Config) command(name string) (Command, bool) {
	if c.Simulated != "" && len(c.Commands) == 0 {
		command, ok := samples()[name]
		return command, ok
	}
	command, ok := c.Commands[name]
	return command, ok
}

func (c Command) effect() string {
	if c.Effect == "" {
		return effectOnce
	}
	return c.Effect
}

func (c Command) format() string {
	switch {
	case c.Format != "":
		return c.Format
	case c.answer() != nil:
		return string(content.JSON)
	}
	return string(content.Text)
}

// answer is the schema of what is written, nil for none.
func (c Command) answer() sdk.Value {
	if sdk.IsNull(c.Answer) {
		return nil
	}
	return c.Answer
}

func (c Command) maxBytes() int64 {
	if c.MaxBytes == 0 {
		return defaultMaxBytes
	}
	return c.MaxBytes
}

// inputSchema is the schema of what the command takes: an object with the names that it
// declares and no others, unless it says so.
func (c Command) inputSchema() sdk.Value {
	if sdk.IsNull(c.Input) {
		return sdk.Value(`{"type":"object","properties":{},"additionalProperties":false}`)
	}
	members, ok := sdk.ReadMembers(c.Input)
	if ok && members.Get("additionalProperties") == nil && members.Get("$ref") == nil {
		return members.With("additionalProperties", sdk.Value("false")).JSON()
	}
	return c.Input
}

// duration reads a setting, which was checked; 0 where it is not said.
func duration(text string) time.Duration {
	d, err := time.ParseDuration(text)
	if err != nil {
		return 0
	}
	return d
}

func (c Command) grace() time.Duration {
	if d := duration(c.Grace); d > 0 {
		return d
	}
	return defaultGrace
}

// checkConfig says what is wrong with a connection's declarations.
func checkConfig(c Config) []sdk.Problem {
	var problems []sdk.Problem
	if len(c.Commands) == 0 && c.Simulated == "" {
		problems = append(problems, sdk.Problemf("/commands", "declares no command").
			WithDetail("declare one: `commands: {report: {argv: [./report.py]}}`, and grant it: `plugins: {exec: {grants: {commands: [./report.py]}}}`"))
	}
	for _, name := range c.names() {
		for _, p := range c.Commands[name].check() {
			p.Pointer = sdk.Pointer("commands", name) + p.Pointer
			problems = append(problems, p)
		}
	}
	return problems
}

// check says what is wrong with one declaration.
func (c Command) check() []sdk.Problem {
	problems := c.checkSchemas()
	if len(problems) > 0 {
		return problems
	}
	problems = append(problems, c.checkTexts()...)
	for _, d := range []struct {
		field, text string
		most        time.Duration
	}{{"timeout", c.Timeout, maxTimeout}, {"grace", c.Grace, maxGrace}} {
		if parsed, err := time.ParseDuration(d.text); d.text != "" && (err != nil || parsed <= 0 || parsed > d.most) {
			problems = append(problems, sdk.Problemf("/"+d.field, "must be a duration such as 30s, at most %s", d.most))
		}
	}
	for _, code := range slices.Sorted(maps.Keys(c.Exits)) {
		at, kind := sdk.Pointer("exits", code), c.Exits[code]
		if number, err := strconv.Atoi(code); err != nil || number < 1 || number > 255 || code != strconv.Itoa(number) {
			problems = append(problems, sdk.Problemf(at, "`%s` is no exit code: it is a number from 1 to 255", sdk.Shown(code, 20)))
		}
		if _, ok := kinds()[kind]; !ok && kind != exitOK {
			problems = append(problems, sdk.Problemf(at, "`%s` is no kind of a failure", sdk.Shown(kind, 40)).
				WithDetail("say ok, or one of %s", strings.Join(slices.Sorted(maps.Keys(kinds())), ", ")))
		}
	}
	return problems
}

// kinds are the failures that an exit code may mean.
func kinds() map[string]sdk.Code {
	named := map[string]sdk.Code{}
	for _, code := range []sdk.Code{
		sdk.CodeInvalid, sdk.CodeUnauthorized, sdk.CodeForbidden, sdk.CodeNotFound, sdk.CodeConflict, sdk.CodeRateLimited, sdk.CodeQuotaExhausted,
		sdk.CodeUnavailable, sdk.CodeTimeout, sdk.CodeDenied, sdk.CodeExpired, sdk.CodeUnsupported,
	} {
		named[code.String()] = code
	}
	return named
}

// checkSchemas reads the schemas of a declaration.
func (c Command) checkSchemas() []sdk.Problem {
	var problems []sdk.Problem
	input, err := sdk.ParseSchema(c.inputSchema())
	switch {
	case err != nil:
		problems = append(problems, sdk.Problemf("/input", "is no JSON Schema that can be read: %v", err))
	case !input.Takes("object"):
		problems = append(problems, sdk.Problemf("/input", "must describe an object: its names are the inputs"))
	}
	format := c.format()
	if format == formatNone && c.answer() != nil {
		return append(problems, sdk.Problemf("/answer", "belongs to a format: `format: none` reads nothing"))
	}
	if why := content.AnswerProblem(content.Format(format), c.Answer); why != "" {
		problems = append(problems, sdk.Problemf("/answer", "%s", why))
	}
	return problems
}

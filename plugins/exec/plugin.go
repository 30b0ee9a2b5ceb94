// Package exec is the plugin that runs commands which a connection declares by name. What
// a workflow gives are typed inputs: each is an argument, or a part of one, and none ever
// reaches a shell (ADR 61).
//
// docs/services/exec.md says what a declaration has.
package exec

import (
	"os"
	"time"

	"github.com/flowrun/flowrun/plugins/content"
	"github.com/flowrun/flowrun/plugins/internal/process"
	"github.com/flowrun/flowrun/sdk"
)

// Version is the version of the plugin.
const Version = "1.0.0"

// Options are what the plugin takes from outside.
type Options struct {
	Now     func() time.Time // clock for how long a command took
	Dir     string           // folder from which programs and working folders are meant; "" = the process's own
	Environ []string         // of the plugin; a few names of it are handed on
}

// New returns the plugin with what a process has.
func New() *sdk.Plugin {
	return NewWith(Options{Now: time.Now, Dir: sdk.ProjectDir(), Environ: os.Environ()})
}

// NewWith returns the plugin with what a test passes in.
func NewWith(o Options) *sdk.Plugin {
	p := &plugin{options: o}
	return sdk.New("exec", Version, "Commands that the connection declares, with typed inputs and outputs.",
		sdk.ValidateConfig(checkConfig),
		sdk.CheckConnection(p.checkConnection),
		sdk.Read("read", "Runs a command that changes nothing: it may be repeated, and its answer kept.", p.act(effectRead), p.shared(effectRead,
			sdk.Example("a command that counts", map[string]any{"command": "count", "input": map[string]any{"word": "tree"}}, nil))...),
		sdk.Idempotent("apply", "Runs a command that leaves the same state however often it is run: it is repeated after a crash.", p.act(effectIdempotent), p.shared(effectIdempotent,
			sdk.Example("a command that puts something in its place", map[string]any{"command": "publish", "input": map[string]any{"version": "1.2.0"}}, nil))...),
		sdk.Once("run", "Runs a command once: where its end is not known, a person decides.", p.act(effectOnce), p.shared(effectOnce,
			sdk.Example("a command that sends something", map[string]any{"command": "send", "input": map[string]any{"to": "team"}}, nil))...),
	)
}

// plugin is what the actions share.
type plugin struct{ options Options }

// surroundings are where its commands are looked for.
func (p *plugin) surroundings() process.Surroundings {
	return process.Surroundings{Plugin: "exec", Dir: p.options.Dir, Environ: p.options.Environ}
}

// commandNamed is how errors name a command.
func commandNamed(name string) string { return "command `" + name + "`" }

// call is one call of any action.
type call = sdk.Call[Config]

// RunInput is what the three actions take.
type RunInput struct {
	Command string     `json:"command" doc:"A command that the connection declares" min:"1"`
	Input   sdk.Object `json:"input,omitempty" doc:"What the command takes, as its declaration says"`
}

// runOutput is the output of the three actions. Which of the last five fields is there,
// the declaration of the command says: narrow.
const runOutput = `{"type":"object","required":["command","exit_code","duration_ms"],"properties":{
"command":{"type":"string","default":"","description":"The command that ran"},
"exit_code":{"type":"integer","default":0,"description":"With which it ended: 0, or one that its declaration calls ok"},
"duration_ms":{"type":"integer","default":0,"description":"How long it took"},
"text":{"type":"string","description":"With format text: what it wrote to stdout"},
"lines":{"type":"array","items":{"type":"string"},"description":"With format lines"},
"json":{"description":"With format json: what answer says"},
"rows":{"type":"array","items":{"type":"object"},"description":"With format csv: what answer says, else texts"},
"base64":{"type":"string","description":"With format bytes"}}}`

// shared adds to an action's options what all of them have.
func (p *plugin) shared(effect string, own ...sdk.ActionOption) []sdk.ActionOption {
	return append(own,
		sdk.Output(sdk.Value(runOutput)),
		sdk.ValidateOn(func(config Config, in RunInput, unknown []string) []sdk.Problem {
			return config.problems(effect, in, unknown)
		}),
		sdk.NarrowOn(narrow),
		sdk.Timeout(10*time.Minute),
		sdk.Fault(sdk.CodeInternal, "", "The command ended with a code that its declaration does not name (reason exit_N), or by a signal (reason killed)."),
		sdk.Fault(sdk.CodeTimeout, "", "It was still at work after its `timeout`, and was ended with all that it had started."),
		sdk.Fault(sdk.CodeUnexpectedResponse, "", "What it wrote is not what `format` and `answer` say, or more than `max_bytes`."),
		sdk.Fault(sdk.CodeForbidden, "not_granted", "The program is not granted to the plugin; the hint says what to write."),
		sdk.Fault(sdk.CodeNotFound, "no_program", "There is no such program."),
	)
}

// narrow types the output by the declaration of a known command.
func narrow(config Config, in RunInput, unknown []string) sdk.Value {
	if sdk.IsUnknown(unknown, "/command") {
		return nil
	}
	command, ok := config.command(in.Command)
	if !ok {
		return nil
	}
	properties := sdk.Members{
		{Name: "command", Value: sdk.Members{{Name: "type", Value: sdk.Text("string")}, {Name: "default", Value: sdk.Text(in.Command)}}.JSON()},
		{Name: "exit_code", Value: sdk.Value(`{"type":"integer","default":0}`)}, {Name: "duration_ms", Value: sdk.Value(`{"type":"integer","default":0}`)},
	}
	required := []string{"command", "exit_code", "duration_ms"}
	if format := command.format(); format != formatNone {
		field := content.Format(format).Field()
		properties = append(properties, sdk.Member{Name: field, Value: content.Narrowed(content.Format(format), command.answer(), "/properties/"+field)})
		required = append(required, field)
	}
	return sdk.Members{
		{Name: "type", Value: sdk.Text("object")}, {Name: "properties", Value: properties.JSON()}, {Name: "required", Value: sdk.JSON(required)},
	}.JSON()
}

// checkConnection looks for each program, and starts none: only its declaration knows
// whether that would be harmless.
func (p *plugin) checkConnection(c *call) (string, error) {
	for _, name := range c.Config.names() {
		if _, err := p.surroundings().Program(commandNamed(name), c.Config.Commands[name].Argv[0]); err != nil {
			return "", err
		}
	}
	c.NotTried("its programs are there; none was started")
	return "", nil
}

package workspace

import (
	"encoding/json"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/plugintree"
	"github.com/flowrun/flowrun/engine/schema"
)

// SimulatorCommand is a program that stands for a service in a sandbox.
type SimulatorCommand struct {
	Connection string // that it stands for; "" = every one of the plugin
	Plugin     string
	Command    []string
	Dir        string // where it runs
}

// Name is what it stands for, for messages.
func (c SimulatorCommand) Name() string {
	if c.Connection == "" {
		return "plugin " + c.Plugin
	}
	return "connection " + c.Connection
}

// SimulatorCommands lists the programs that the project and its plugins name, but
// for those of live connections.
func (p *Workspace) SimulatorCommands() []SimulatorCommand {
	var commands []SimulatorCommand
	for _, own := range p.file.Sandbox {
		declared, ok := p.file.Connection(own.Connection)
		if !ok || p.sandbox == nil || p.Live(own.Connection) || len(own.Command) == 0 {
			continue
		}
		commands = append(commands, SimulatorCommand{
			Connection: own.Connection, Plugin: declared.Plugin, Command: beside(p.config.Dir, own.Command, true), Dir: p.config.Dir,
		})
	}
	for _, source := range p.sources() {
		if p.sandbox == nil || source.Attach != "" && source.Path == "" {
			continue
		}
		description, err := p.Describe(source.Name)
		if err != nil || len(description.Simulator) == 0 {
			continue // what is wrong with the plugin is told by who uses it
		}
		if source.Bundled { // it is this program, whatever it is called
			command := append([]string{p.config.Executable}, description.Simulator[1:]...)
			commands = append(commands, SimulatorCommand{Plugin: source.Name, Command: command, Dir: p.config.Dir})
			continue
		}
		folder := filepath.Dir(source.Path)
		if tree, _, err := p.host.Tree(source.Name); err == nil && tree != "" {
			folder = programsIn(tree)
		}
		commands = append(commands, SimulatorCommand{
			Plugin: source.Name, Command: beside(folder, description.Simulator, false), Dir: p.config.Dir,
		})
	}
	return commands
}

// programsIn is where in the copy of a plugin's folder the programs lie that it names.
func programsIn(tree string) string {
	manifest, err := plugintree.ReadManifest(os.DirFS(tree))
	if err != nil {
		return tree // who starts it is told
	}
	return filepath.Join(tree, filepath.FromSlash(manifest.ProgramFolder(Platform())))
}

// CheckSimulator says what is wrong with the config that a simulator has printed: it
// must fit the plugin, and each address in it, also those that the plugin would take
// by default, must be on this machine.
func (p *Workspace) CheckSimulator(c SimulatorCommand, config json.RawMessage) error {
	if _, err := p.Describe(c.Plugin); err != nil {
		return err
	}
	t, err := p.configType(c.Plugin)
	if err != nil {
		return fmt.Errorf("config schema of plugin %s: %w", c.Plugin, err)
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(config, &fields); err != nil {
		return fmt.Errorf("the simulator of %s printed no config", c.Name())
	}
	for name := range fields {
		if _, ok := t.Field(name); !ok && t.Additional == nil {
			hint := diag.MeantOr(name, t.FieldNames(), "its settings are ")
			return fmt.Errorf("the simulator of %s gives the setting `%s`, which plugin %s does not have; %s", c.Name(), name, c.Plugin, hint.Text)
		}
	}
	if _, err := t.WithoutSecrets().Decode(config); err != nil {
		return fmt.Errorf("the config that the simulator of %s gives does not fit plugin %s: %w", c.Name(), c.Plugin, err)
	}
	for _, field := range t.Fields {
		value, given := fields[field.Name]
		if !given {
			value = field.Type.Default
		}
		address := outsideAddress(value)
		switch {
		case address == "":
		case given:
			return fmt.Errorf("the simulator of %s gives %s for `%s`, which is not on this machine; --live uses a real service", c.Name(), withoutPassword(address), field.Name)
		default:
			return fmt.Errorf("the simulator of %s leaves `%s` at %s, which is not on this machine", c.Name(), field.Name, address)
		}
	}
	return nil
}

// outsideAddress returns an address in a document that is not on this machine, ""
// when there is none.
func outsideAddress(document json.RawMessage) (outside string) {
	var value any
	if len(document) == 0 || json.Unmarshal(document, &value) != nil {
		return ""
	}
	schema.Walk(value, func(part any) bool {
		text, _ := part.(string)
		if host := hostIn(text); outside == "" && host != "" && !onThisMachine(host) {
			outside = text
		}
		return outside == ""
	})
	return outside
}

// hostIn is the host of an address or of host:port, "" for other texts.
func hostIn(text string) string {
	if address, err := url.Parse(text); err == nil && address.Host != "" {
		return address.Hostname()
	}
	host, port, err := net.SplitHostPort(text)
	if _, number := strconv.ParseUint(port, 10, 16); err != nil || number != nil {
		return ""
	}
	return host
}

func onThisMachine(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

// beside makes the program of a command absolute where it names a file of a folder.
// slash says that one without a slash is looked for in PATH.
func beside(dir string, command []string, slash bool) []string {
	own := slices.Clone(command)
	if !filepath.IsAbs(own[0]) && (!slash || strings.Contains(own[0], "/")) {
		own[0] = filepath.Join(dir, filepath.FromSlash(own[0]))
	}
	return own
}

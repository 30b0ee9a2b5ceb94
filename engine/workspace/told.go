package workspace

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/pluginhost"
	"github.com/flowrun/flowrun/engine/project"
	"github.com/flowrun/flowrun/engine/schema"
	"github.com/flowrun/flowrun/engine/spec"
)

// What flowrun.yaml tells a plugin (`with`): read by the plugin's own schema, with the
// files that it names, and each mistake at its place (ADR 58).

// How much a project may tell one plugin.
const (
	maxToldFile  = 32 << 20 // bytes of one file
	maxToldFiles = 48 << 20 // bytes of all
	maxToldCount = 100      // files
)

// settingsOf reads what a plugin is told, when its schema is known.
func (p *Workspace) settingsOf(plugin project.Plugin) func(json.RawMessage) (pluginhost.Settings, error) {
	return func(document json.RawMessage) (pluginhost.Settings, error) {
		t, err := schema.FromJSON(document)
		if err != nil {
			return pluginhost.Settings{}, fmt.Errorf("read the schema of its settings: %w", err)
		}
		reader := toldReader{workspace: p, plugin: plugin}
		settings := reader.read(t)
		if err := reader.problems.Err(); err != nil {
			return pluginhost.Settings{}, err
		}
		return settings, nil
	}
}

// toldReader reads what one plugin is told, and gathers what is wrong with it.
type toldReader struct {
	workspace *Workspace
	plugin    project.Plugin
	problems  diag.List
	size      int
}

func (r *toldReader) read(t *schema.Type) pluginhost.Settings {
	settings := pluginhost.Settings{Value: json.RawMessage("{}")}
	if r.plugin.With != nil {
		converter := configConverter{of: "plugin `" + r.plugin.Name + "`", problems: &r.problems}
		encoded, err := json.Marshal(converter.convert(r.plugin.With, t))
		if err != nil {
			r.problems.Errorf(r.plugin.Pos, project.CodeTold, "plugin `%s`: %v", r.plugin.Name, err)
		}
		if r.problems.HasErrors() {
			return settings
		}
		settings.Value = encoded
	}
	if strings.Contains(string(settings.Value), `"$secret"`) {
		r.refuseSecrets()
		return settings
	}
	value, err := t.Decode(settings.Value)
	if err != nil {
		r.misfit(err)
		return settings
	}
	settings.Files = r.files(value, t, "", nil)
	return settings
}

// misfit tells where the settings do not fit their schema.
func (r *toldReader) misfit(err error) {
	mismatch, is := errors.AsType[*schema.Mismatch](err)
	if !is {
		r.problems.Errorf(r.plugin.Pos, project.CodeTold, "plugin `%s`: %v", r.plugin.Name, err)
		return
	}
	r.problems.Errorf(r.plugin.ToldPlace(mismatch.Pointer), project.CodeTold, "plugin `%s`: %s", r.plugin.Name, mismatch.Message).Hint = mismatch.Hint
}

// refuseSecrets tells where a secret stands: what a plugin is told is kept in clear.
func (r *toldReader) refuseSecrets() {
	r.plugin.With.EachScalar(func(n *spec.Node) {
		if name, ok := project.SecretName(n.Text); ok {
			r.problems.Errorf(n.Pos, project.CodeSecretHere, "plugin `%s`: the secret %s can't stand in `with`, which is kept in clear", r.plugin.Name, name).Hint =
				diag.Say("secrets are for the config of a connection")
		}
	})
}

// files reads the files that the settings name: every text whose format is that of a file.
func (r *toldReader) files(value any, t *schema.Type, pointer string, found []pluginhost.SettingsFile) []pluginhost.SettingsFile {
	switch value := value.(type) {
	case string:
		if t == nil || !t.File || value == "" {
			return found
		}
		if len(found) >= maxToldCount {
			r.problems.Errorf(r.plugin.ToldPlace(pointer), project.CodeTold, "plugin `%s`: more than %d files are named", r.plugin.Name, maxToldCount)
			return found
		}
		if content, ok := r.file(value, pointer); ok {
			found = append(found, pluginhost.SettingsFile{Pointer: pointer, Path: value, Content: content})
		}
	case map[string]any:
		t = t.Shaped(schema.Object)
		names := make([]string, 0, len(value))
		for name := range value {
			names = append(names, name)
		}
		slices.Sort(names)
		for _, name := range names {
			field, known := t.Field(name)
			if !known {
				field = t.Additional
			}
			found = r.files(value[name], field, pointer+diag.Pointer(name), found)
		}
	case []any:
		t = t.Shaped(schema.List)
		for i, item := range value {
			found = r.files(item, t.Element(), pointer+"/"+strconv.Itoa(i), found)
		}
	}
	return found
}

// file reads one file of the project.
func (r *toldReader) file(path, pointer string) ([]byte, bool) {
	content, err := readToldFile(r.workspace.config.Dir, path, maxToldFile)
	if err == nil {
		if r.size += len(content); r.size > maxToldFiles {
			err = fmt.Errorf("the files that are told have more than %d MiB together", maxToldFiles>>20)
		}
	}
	if err == nil {
		return content, true
	}
	problem := r.problems.Errorf(r.plugin.ToldPlace(pointer), project.CodeTold, "plugin `%s`: %s can't be read: %v", r.plugin.Name, path, err)
	problem.Hint = diag.Say("name a file of the project, from the folder of " + project.FileName)
	return nil, false
}

// readToldFile reads a regular file below the project's root, of at most so many bytes.
func readToldFile(dir, path string, most int64) ([]byte, error) {
	if filepath.IsAbs(path) {
		return nil, errors.New("it is an absolute path")
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("open the project's root: %w", err)
	}
	defer func() { _ = root.Close() }()                                                     // it was only read
	file, err := root.OpenFile(filepath.FromSlash(path), os.O_RDONLY|syscall.O_NONBLOCK, 0) // who waits at a pipe waits for ever
	if err != nil {
		return nil, reasonOf(err)
	}
	defer file.Close()
	info, err := file.Stat()
	switch {
	case err != nil:
		return nil, reasonOf(err)
	case !info.Mode().IsRegular():
		return nil, errors.New("it is not a regular file")
	case info.Size() > most:
		return nil, fmt.Errorf("it has %d MiB, at most %d are taken", info.Size()>>20, most>>20)
	}
	var content bytes.Buffer
	content.Grow(int(info.Size()) + bytes.MinRead) // documents are large, and every command reads them
	_, err = content.ReadFrom(io.LimitReader(file, most+1))
	if err == nil && int64(content.Len()) > most {
		err = fmt.Errorf("it has more than %d MiB", most>>20)
	}
	return content.Bytes(), err
}

// reasonOf is what went wrong with a file, without its path.
func reasonOf(err error) error {
	if failed, ok := errors.AsType[*fs.PathError](err); ok {
		return failed.Err
	}
	return err
}

// toldFiles lists the files that a plugin's settings name, as far as they can be told
// without the plugin: every text of them may be one.
func (p *Workspace) toldFiles(name string) []string {
	var paths []string
	for _, plugin := range p.file.Plugins {
		if plugin.Name != name || plugin.With == nil {
			continue
		}
		plugin.With.EachScalar(func(n *spec.Node) {
			if n.Text != "" && !filepath.IsAbs(n.Text) {
				paths = append(paths, p.inProject(n.Text))
			}
		})
	}
	return paths
}

// ToldProblems tells what is wrong with what flowrun.yaml tells a plugin, at its place; nil
// where nothing is.
func (p *Workspace) ToldProblems(name string) diag.List {
	_, err := p.Describe(name)
	failure, is := errors.AsType[*pluginhost.PluginError](err)
	if !is || failure.Reason != pluginhost.ReasonSettings {
		return nil
	}
	if list, is := errors.AsType[diag.List](failure.Err); is {
		return list
	}
	var problems diag.List
	p.addTold(name, failure.Refused, &problems)
	if len(problems) == 0 {
		plugin := p.declaredPlugin(name)
		problems.Errorf(plugin.Pos, project.CodeTold, "plugin `%s`: %s", name, cmp.Or(failure.Message, err.Error()))
	}
	for i := range problems {
		problems[i].Hint = problems[i].Hint.Or(failure.Hint)
	}
	return problems
}

// addTold adds what a plugin has against what it is told, with the place of each.
func (p *Workspace) addTold(name string, said []pluginhost.Diagnostic, problems *diag.List) {
	plugin := p.declaredPlugin(name)
	for _, d := range said {
		add := problems.Warnf
		if d.Error {
			add = problems.Errorf
		}
		add(plugin.ToldPlace(d.Pointer), project.CodeTold, "plugin `%s`: %s", name, d.Summary).Hint = diag.Say(d.Detail)
	}
}

// SettingsDoc tells what flowrun.yaml can tell a plugin; nil = nothing.
func (p *Workspace) SettingsDoc(name string) ([]FieldDoc, error) {
	d, err := p.Describe(name)
	if err != nil || len(d.SettingsSchema) == 0 {
		return nil, err
	}
	t, err := schema.FromJSON(d.SettingsSchema)
	if err != nil {
		return nil, fmt.Errorf("settings schema of plugin %s: %w", name, err)
	}
	return fieldDocs(t, "", 0), nil
}

// tellTold hands on what a plugin has said against what it was told, and took.
func (p *Workspace) tellTold(name string, said []pluginhost.Diagnostic) {
	var warnings diag.List
	p.addTold(name, said, &warnings)
	if tell := p.config.Told; tell != nil {
		tell(name, warnings)
		return
	}
	for _, warning := range warnings {
		p.config.Log.Warn("the plugin takes what it is told with a warning", "plugin", name, "warning", warning.String())
	}
}

// declaredPlugin is a plugin as flowrun.yaml has it.
func (p *Workspace) declaredPlugin(name string) project.Plugin {
	for _, plugin := range p.file.Plugins {
		if plugin.Name == name {
			return plugin
		}
	}
	return project.Plugin{Name: name}
}

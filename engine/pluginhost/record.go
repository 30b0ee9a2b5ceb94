package pluginhost

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"

	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/sdk/proto/handshake"
)

// describeFormat is the version of the record of a description, and of the rules by
// which it was checked: a record of another one is asked for again. It rises when
// `check` refuses more.
const describeFormat = 8

// The record of a description is a file of JSON texts: the first line is the index,
// with all that lists show; behind it stand the schemas of the actions, and their
// recipes, which are the plugin's own bytes: the
// index names them by their place, and the last line is the sum of all bytes before it.
// Nobody parses a schema that is not used. An action of an index has neither.

// indexed is the first line.
type indexed struct {
	*Description
	Actions []indexedAction `json:"actions"`
}

// indexedAction is an action without its schemas. What it has of its plugin stands
// there.
type indexedAction struct {
	*plan.Action
	Plugin        string `json:"plugin,omitempty"`
	PluginVersion string `json:"plugin_version,omitempty"`
	PluginDigest  string `json:"plugin_digest,omitempty"`
	Input         span   `json:"input_schema"`
	Output        span   `json:"output_schema"`
	Recipe        span   `json:"recipe_place,omitzero"`
	Decided       bool   `json:"schemas_decide,omitempty"`
}

// span is where a text begins behind the index, and where it ends.
type span [2]int

// text returns the text at the place; it shares the bytes of all.
func (s span) text(texts []byte) (json.RawMessage, error) {
	if s[0] < 0 || s[0] >= s[1] || s[1] > len(texts) {
		return nil, fmt.Errorf("no text stands at %d to %d of %d", s[0], s[1], len(texts))
	}
	return json.RawMessage(texts[s[0]:s[1]:s[1]]), nil
}

// sumLine is the last line of a record: CRC-32C of what stands before it.
func sumLine(data []byte) []byte {
	return fmt.Appendf(nil, "{\"crc32c\":\"%08x\"}\n", crc32.Checksum(data, crc32.MakeTable(crc32.Castagnoli)))
}

// encodeRecord writes a description that was checked.
func encodeRecord(d *Description) ([]byte, error) {
	index := indexed{Description: d, Actions: make([]indexedAction, len(d.Actions))}
	var texts []byte
	put := func(text []byte) span {
		if len(text) == 0 {
			return span{}
		}
		from := len(texts)
		texts = append(texts, text...)
		to := len(texts)
		texts = append(texts, '\n')
		return span{from, to}
	}
	for i, action := range d.Actions {
		index.Actions[i] = indexedAction{
			Action: action, Input: put(action.Input), Output: put(action.Output), Recipe: put(d.recipes[action.Name]), Decided: d.decided[action.Name],
		}
	}
	line, err := json.Marshal(index)
	if err != nil {
		return nil, fmt.Errorf("encode the index: %w", err)
	}
	data := append(append(line, '\n'), texts...)
	return append(data, sumLine(data)...), nil
}

// decodeRecord reads what encodeRecord wrote; damage is an error.
func decodeRecord(data []byte) (*Description, error) {
	end := len(data) - len(sumLine(nil))
	if end < 0 || !bytes.Equal(data[end:], sumLine(data[:end])) {
		return nil, errors.New("it is damaged, or of before")
	}
	line, texts, _ := bytes.Cut(data[:end], []byte("\n"))
	var index indexed
	if err := json.Unmarshal(line, &index); err != nil {
		return nil, fmt.Errorf("read the index: %w", err)
	}
	if index.Description == nil || index.Format != describeFormat {
		return nil, errors.New("it has another format")
	}
	d := index.Description
	for i, entry := range index.Actions { // of none the list is nil, as in what the plugin said
		action := entry.Action
		if action == nil {
			return nil, fmt.Errorf("action %d is empty", i)
		}
		if err := d.take(entry, texts); err != nil {
			return nil, err
		}
		action.Plugin, action.PluginVersion, action.PluginDigest = d.Name, d.Version, d.Digest
		d.Actions = append(d.Actions, action)
	}
	return d, nil
}

// take gives an action its schemas and its recipe; an entry of an index has none of them.
func (d *Description) take(entry indexedAction, texts []byte) (err error) {
	if entry.Input == (span{}) && d.Supports(handshake.FeatureIndex) {
		return nil
	}
	if entry.Action.Input, err = entry.Input.text(texts); err != nil {
		return err
	}
	if entry.Action.Output, err = entry.Output.text(texts); err != nil {
		return err
	}
	if entry.Decided {
		d.decide(entry.Action.Name)
	}
	if entry.Recipe == (span{}) {
		return nil
	}
	recipe, err := entry.Recipe.text(texts)
	if d.recipes == nil {
		d.recipes = map[string][]byte{}
	}
	d.recipes[entry.Action.Name] = recipe
	return err
}

// recordPath is the file of a description. Bundled plugins share one executable, so
// theirs has the plugin's name too, and so has that of a plugin that was told something.
func (p *plugin) recordPath(exe executable) string {
	name := exe.revision()
	if len(exe.args) > 0 || p.source.Bundled || exe.told != "" {
		name += "." + p.source.Name
	}
	return filepath.Join(p.host.dir, name+describeSuffix)
}

// basePath is the file of the description that a plugin gives of itself without settings.
func (p *plugin) basePath(exe executable) string {
	return filepath.Join(p.host.dir, exe.digest+"."+p.source.Name+baseSuffix)
}

// The ends of the names of records.
const (
	describeSuffix = ".describe.json"
	baseSuffix     = ".base" + describeSuffix
	actionsSuffix  = ".actions" // of a folder: a record for each action of an index that was asked for
)

// readRecord returns the description that was kept of a revision, nil where there
// is none that can be read: it is only a cache, but of what a plugin was told before.
func readRecord(path, revision string) *Description {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	d, err := decodeRecord(data)
	if err != nil || d.Digest != revision {
		return nil
	}
	return d
}

// isDescribed reports whether the revision has described itself, and nothing was wrong with
// it. The record of it need not be readable: else the plugin is asked again.
func (u *unit) isDescribed() bool {
	if u.known() != nil {
		return true
	}
	_, err := os.Lstat(u.plugin.recordPath(u.exe))
	return err == nil
}

// remember writes a record. A failure only costs a start the next time; where the plugin
// was told something, a run has no other way back to it.
func (u *unit) remember(path string, d *Description) {
	data, err := encodeRecord(d)
	if err == nil {
		err = writeDurable(path, data)
	}
	if err != nil {
		u.host.options.Log.Warn("plugin description not kept", "plugin", u.source.Name, "error", err)
	}
}

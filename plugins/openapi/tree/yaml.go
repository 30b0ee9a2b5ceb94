package tree

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"

	"gopkg.in/yaml.v3"
)

// parseYAML reads one document of YAML as JSON. Aliases are written out; keys are texts
// as they are written; times stay texts.
func parseYAML(data []byte) (*Node, error) {
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	var document yaml.Node
	if err := decoder.Decode(&document); err != nil {
		return nil, fmt.Errorf("the document is no YAML: %w", err)
	}
	var second yaml.Node
	if decoder.Decode(&second) == nil {
		return nil, errors.New("the file has more than one YAML document")
	}
	w := yamlWriter{}
	if err := w.value(&document, 0); err != nil {
		return nil, err
	}
	return &Node{raw: w.out.Bytes()}, nil
}

// yamlWriter writes YAML as JSON.
type yamlWriter struct{ out bytes.Buffer }

func (w *yamlWriter) value(n *yaml.Node, depth int) error {
	if depth > maxDepth {
		return fmt.Errorf("line %d: the document is nested deeper than %d, or an alias stands for itself", n.Line, maxDepth)
	}
	if w.out.Len() > MaxSize {
		return fmt.Errorf("line %d: the document is larger than %d bytes with its aliases written out", n.Line, MaxSize)
	}
	switch n.Kind {
	case yaml.DocumentNode:
		return w.value(n.Content[0], depth+1)
	case yaml.AliasNode:
		return w.value(n.Alias, depth+1)
	case yaml.SequenceNode:
		return w.list(n, depth)
	case yaml.MappingNode:
		return w.object(n, depth)
	}
	return w.scalar(n)
}

func (w *yamlWriter) list(n *yaml.Node, depth int) error {
	w.out.WriteByte('[')
	for i, item := range n.Content {
		if i > 0 {
			w.out.WriteByte(',')
		}
		if err := w.value(item, depth+1); err != nil {
			return err
		}
	}
	w.out.WriteByte(']')
	return nil
}

func (w *yamlWriter) object(n *yaml.Node, depth int) error {
	w.out.WriteByte('{')
	written := map[string]bool{}
	if err := w.members(n, written, depth); err != nil {
		return err
	}
	w.out.WriteByte('}')
	return nil
}

// members writes the members of a mapping, and then those that it merges in with `<<`:
// its own come before them.
func (w *yamlWriter) members(n *yaml.Node, written map[string]bool, depth int) error {
	if depth > maxDepth {
		return fmt.Errorf("line %d: the document is nested deeper than %d", n.Line, maxDepth)
	}
	var merged []*yaml.Node
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if key.Tag == "!!merge" {
			merged = append(merged, value)
			continue
		}
		if key.Kind != yaml.ScalarNode {
			return fmt.Errorf("line %d: a key that is no text", key.Line)
		}
		if written[key.Value] {
			continue // one that was merged in, or stands twice
		}
		if len(written) > 0 {
			w.out.WriteByte(',')
		}
		written[key.Value] = true
		w.text(key.Value)
		w.out.WriteByte(':')
		if err := w.value(value, depth+1); err != nil {
			return err
		}
	}
	for _, from := range merged {
		if err := w.merge(from, written, depth+1); err != nil {
			return err
		}
	}
	return nil
}

func (w *yamlWriter) merge(from *yaml.Node, written map[string]bool, depth int) error {
	if from.Kind == yaml.AliasNode {
		from = from.Alias
	}
	switch from.Kind {
	case yaml.MappingNode:
		return w.members(from, written, depth)
	case yaml.SequenceNode:
		for _, part := range from.Content {
			if err := w.merge(part, written, depth+1); err != nil {
				return err
			}
		}
		return nil
	}
	return fmt.Errorf("line %d: what `<<` names is no mapping", from.Line)
}

func (w *yamlWriter) scalar(n *yaml.Node) error {
	switch n.ShortTag() {
	case "!!null":
		w.out.WriteString("null")
	case "!!bool":
		var is bool
		if err := n.Decode(&is); err != nil {
			return fmt.Errorf("line %d: %w", n.Line, err)
		}
		w.out.WriteString(strconv.FormatBool(is))
	case "!!int", "!!float":
		return w.number(n)
	default:
		w.text(n.Value)
	}
	return nil
}

// number writes a number as it stands where JSON has that form.
func (w *yamlWriter) number(n *yaml.Node) error {
	if json.Valid([]byte(n.Value)) {
		w.out.WriteString(n.Value)
		return nil
	}
	var whole int64
	if n.ShortTag() == "!!int" && n.Decode(&whole) == nil {
		w.out.WriteString(strconv.FormatInt(whole, 10))
		return nil
	}
	var number float64
	if err := n.Decode(&number); err != nil {
		return fmt.Errorf("line %d: %w", n.Line, err)
	}
	if math.IsInf(number, 0) || math.IsNaN(number) {
		return fmt.Errorf("line %d: %s is no number that JSON has", n.Line, n.Value)
	}
	w.out.WriteString(strconv.FormatFloat(number, 'g', -1, 64))
	return nil
}

func (w *yamlWriter) text(text string) {
	w.out.Write(quote(text))
}

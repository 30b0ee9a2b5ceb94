package format

import (
	"bytes"
	"errors"
	"slices"

	"github.com/flowrun/flowrun/engine/spec"
)

// region is a value in block context: a scalar or a flow collection with its
// bytes.
type region struct {
	node       *spec.Node
	start, end int
}

// edit replaces bytes of the file.
type edit struct {
	start, end int
	text       string
}

// collect walks the tree once: it notes where keys and values stand, and what to
// write differently.
func (p *printer) collect(node *spec.Node, flow bool) error {
	switch {
	case node.Kind == spec.Scalar:
		start, end, ok := node.Range()
		if !ok {
			if node.Text != "" || node.Style != spec.Plain {
				return errors.New("a text's end is not known")
			}
			return nil
		}
		if !flow {
			p.values[start] = region{node, start, end}
		}
		p.rewrite(node, start, end, flow)
		return nil
	case node.Flow && !flow:
		start, _, _ := node.Range()
		end, err := p.flowEnd(node)
		if err != nil {
			return err
		}
		p.values[start] = region{node, start, end}
		flow = true
	}
	for _, pair := range node.Pairs {
		if err := p.collectKey(pair.Key, flow); err != nil {
			return err
		}
		if err := p.collect(pair.Value, flow); err != nil {
			return err
		}
	}
	for _, item := range node.Items {
		if err := p.collect(item, flow); err != nil {
			return err
		}
	}
	return nil
}

func (p *printer) collectKey(key *spec.Node, flow bool) error {
	start, end, ok := key.Range()
	if !ok || bytes.IndexByte(p.text[start:end], '\n') >= 0 {
		return errors.New("a key is not on one line")
	}
	if !flow {
		p.keys[start] = end
	}
	if key.Style != spec.Plain && plainKey().MatchString(key.Text) && isPlainText(key.Text, true) {
		p.edits = append(p.edits, edit{start, end, key.Text})
	}
	return nil
}

// flowEnd finds the end of a flow collection, stepping over its texts.
func (p *printer) flowEnd(node *spec.Node) (int, error) {
	inside := map[int]int{}
	if err := scalarsIn(node, inside); err != nil {
		return 0, err
	}
	start, _, _ := node.Range()
	depth := 0
	for at := start; at < len(p.text); {
		if end, ok := inside[at]; ok && end > at {
			at = end
			continue
		}
		switch p.text[at] {
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return at + 1, nil
			}
		case '#':
			for at < len(p.text) && p.text[at] != '\n' {
				at++
			}
			continue
		}
		at++
	}
	return 0, errors.New("the end of a list or map is not known")
}

func scalarsIn(node *spec.Node, ends map[int]int) error {
	if node.Kind == spec.Scalar {
		start, end, ok := node.Range()
		if !ok && node.Text != "" {
			return errors.New("a text's end is not known")
		}
		if ok {
			ends[start] = end
		}
	}
	for _, pair := range node.Pairs {
		if err := errors.Join(scalarsIn(pair.Key, ends), scalarsIn(pair.Value, ends)); err != nil {
			return err
		}
	}
	for _, item := range node.Items {
		if err := scalarsIn(item, ends); err != nil {
			return err
		}
	}
	return nil
}

// edited returns the bytes [from, to) with the edits that lie in them.
func (p *printer) edited(from, to int) string {
	var b bytes.Buffer
	first, _ := slices.BinarySearchFunc(p.edits, from, func(e edit, at int) int { return e.start - at })
	for _, e := range p.edits[first:] {
		if e.end > to {
			break
		}
		b.Write(p.text[from:e.start])
		b.WriteString(e.text)
		from = e.end
	}
	b.Write(p.text[from:to])
	return b.String()
}

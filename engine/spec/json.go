package spec

import "encoding/json"

// jsonNumber reports whether a text is a number of JSON.
func jsonNumber(text string) bool {
	return text != "" && (text[0] == '-' || isDigit(text[0])) && isDigit(text[len(text)-1]) && json.Valid([]byte(text))
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// JSON returns the value as a free-form object takes it: plain null, true,
// false and JSON numbers are those values, every other scalar is text. Keys
// keep their written order. Bad nodes are null.
func (n *Node) JSON() json.RawMessage {
	var out []byte
	return n.appendJSON(out)
}

func (n *Node) appendJSON(out []byte) []byte {
	switch {
	case n == nil || n.Bad && n.Kind == Scalar:
		return append(out, "null"...)
	case n.Kind == Mapping:
		return n.appendObject(out)
	case n.Kind == Sequence:
		out = append(out, '[')
		for i, item := range n.Items {
			if i > 0 {
				out = append(out, ',')
			}
			out = item.appendJSON(out)
		}
		return append(out, ']')
	case n.IsNull():
		return append(out, "null"...)
	case n.IsPlain() && (n.Text == "true" || n.Text == "false" || jsonNumber(n.Text)):
		return append(out, n.Text...)
	}
	return appendText(out, n.Text)
}

func (n *Node) appendObject(out []byte) []byte {
	out = append(out, '{')
	for i, pair := range n.Pairs {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(appendText(out, pair.Key.Text), ':')
		out = pair.Value.appendJSON(out)
	}
	return append(out, '}')
}

// appendText writes a JSON string; a Go string always has one.
func appendText(out []byte, text string) []byte {
	quoted, err := json.Marshal(text)
	if err != nil {
		return append(out, `""`...)
	}
	return append(out, quoted...)
}

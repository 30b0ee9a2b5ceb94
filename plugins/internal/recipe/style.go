package recipe

import (
	"encoding/json"
	"net/netip"
	"strings"

	"github.com/flowrun/flowrun/sdk"
)

// pair is a name with a text: of a query, a form or a cookie.
type pair struct{ name, text string }

// text writes a value as it stands in a URL: texts without quotes, the rest as JSON.
func text(value sdk.Value) string {
	if s, isText := textOf(value); isText {
		return s
	}
	return strings.TrimSpace(string(value))
}

// textOf is a value that is a text, and false for another.
func textOf(value sdk.Value) (string, bool) {
	var s string
	isText := json.Unmarshal(value, &s) == nil && !sdk.IsNull(value)
	return s, isText
}

// as is a value in the form that it is sent in.
func (p Param) as(value sdk.Value) (sdk.Value, error) {
	said, isText := textOf(value)
	if p.As == "" || !isText {
		return value, nil
	}
	switch p.As {
	case AsUpper:
		said = strings.ToUpper(said)
	case AsLower:
		said = strings.ToLower(said)
	case AsHost:
		said = strings.TrimSuffix(said, ".")
	case AsAddress:
		address, err := netip.ParseAddr(said)
		if err != nil {
			return nil, sdk.Invalid("", "must be an IPv4 or IPv6 address")
		}
		said = address.String()
	}
	return sdk.Text(said), nil
}

// list returns the elements of a list, and false for another value.
func list(value sdk.Value) ([]sdk.Value, bool) {
	var items []sdk.Value
	if json.Unmarshal(value, &items) != nil || items == nil {
		return nil, false
	}
	return items, true
}

func texts(items []sdk.Value) []string {
	all := make([]string, len(items))
	for i, item := range items {
		all[i] = text(item)
	}
	return all
}

// delimiter parts the elements of a list that is one value.
func (p Param) delimiter() string {
	switch p.Style {
	case "spaceDelimited":
		return " "
	case "pipeDelimited":
		return "|"
	}
	return ","
}

// pairs writes a value in the styles of a query: form, spaceDelimited, pipeDelimited and
// deepObject.
func (p Param) pairs(value sdk.Value) []pair {
	if p.JSON {
		return []pair{{p.Name, strings.TrimSpace(string(value))}}
	}
	if items, ok := list(value); ok {
		if !p.Explode {
			if len(items) == 0 {
				return nil
			}
			return []pair{{p.Name, strings.Join(texts(items), p.delimiter())}}
		}
		var all []pair
		for _, item := range items {
			all = append(all, pair{p.Name, text(item)})
		}
		return all
	}
	members, ok := sdk.ReadMembers(value)
	switch {
	case !ok:
		return []pair{{p.Name, text(value)}}
	case p.Style == "deepObject":
		return deep(p.Name, members)
	case p.Explode:
		var all []pair
		for _, member := range members {
			if !sdk.IsNull(member.Value) {
				all = append(all, pair{member.Name, text(member.Value)})
			}
		}
		return all
	}
	return []pair{{p.Name, joinMembers(members, p.delimiter(), p.delimiter())}}
}

// deep writes the members of an object as name[member], and those inside of it as
// name[member][inner].
func deep(name string, members sdk.Members) []pair {
	var all []pair
	for _, member := range members {
		inner := name + "[" + member.Name + "]"
		if sdk.IsNull(member.Value) {
			continue
		}
		if nested, ok := sdk.ReadMembers(member.Value); ok {
			all = append(all, deep(inner, nested)...)
			continue
		}
		if items, ok := list(member.Value); ok {
			for _, item := range items {
				all = append(all, pair{inner, text(item)})
			}
			continue
		}
		all = append(all, pair{inner, text(member.Value)})
	}
	return all
}

func joinMembers(members sdk.Members, between, equals string) string {
	var parts []string
	for _, member := range members {
		if !sdk.IsNull(member.Value) {
			parts = append(parts, member.Name+equals+text(member.Value))
		}
	}
	return strings.Join(parts, between)
}

// joined writes a value in the style simple: of a header, and of a path before it is
// escaped.
func (p Param) joined(value sdk.Value, between, equals string) string {
	if p.JSON {
		return strings.TrimSpace(string(value))
	}
	if items, ok := list(value); ok {
		return strings.Join(texts(items), between)
	}
	if members, ok := sdk.ReadMembers(value); ok {
		if !p.Explode {
			equals = between
		}
		return joinMembers(members, between, equals)
	}
	return text(value)
}

// segment writes a value as a part of the path, escaped: in the styles simple, label and
// matrix.
func (p Param) segment(value sdk.Value) (string, error) {
	if p.Segments {
		var parts []string
		for part := range strings.SplitSeq(strings.Trim(text(value), "/"), "/") {
			escaped, err := sdk.PathEscape(part)
			if err != nil {
				return "", err
			}
			parts = append(parts, escaped)
		}
		return strings.Join(parts, "/"), nil
	}
	switch p.Style {
	case "label":
		between := ","
		if p.Explode {
			between = "."
		}
		return prefixed(".", p.joined(value, between, "="))
	case "matrix":
		return p.matrix(value)
	}
	return sdk.PathEscape(p.joined(value, ",", "="))
}

func (p Param) matrix(value sdk.Value) (string, error) {
	if p.Explode {
		var all strings.Builder
		for _, one := range p.pairs(value) {
			escaped, err := prefixed(";"+one.name+"=", one.text)
			if err != nil {
				return "", err
			}
			all.WriteString(escaped)
		}
		return all.String(), nil
	}
	return prefixed(";"+p.Name+"=", p.joined(value, ",", ","))
}

// prefixed escapes a text and puts a prefix before it.
func prefixed(prefix, text string) (string, error) {
	escaped, err := sdk.PathEscape(text)
	return prefix + escaped, err
}

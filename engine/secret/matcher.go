package secret

import "sort"

// matcher is an Aho-Corasick automaton: it finds all patterns of a text in one
// pass. Immutable, safe for concurrent use.
type matcher struct {
	root  [256]int32 // of the first byte, most of all texts stays here
	nodes []node
}

// node is a prefix of a pattern. Node 0 is the empty one. There is one node for
// each byte of nearly every pattern, so they are small: children are a list.
type node struct {
	first int32 // child; 0 = none
	next  int32 // of the parent's children; 0 = none
	fail  int32 // the longest proper suffix that is a prefix too
	depth int32 // length of the prefix
	match int32 // length of the longest pattern that ends here; 0 = none
	char  byte  // the last one of the prefix
}

func newMatcher(patterns map[string]int) *matcher {
	sorted := make([]string, 0, len(patterns))
	for pattern := range patterns {
		sorted = append(sorted, pattern)
	}
	sort.Strings(sorted)
	m := &matcher{nodes: make([]node, 1)}
	for _, pattern := range sorted {
		m.insert(pattern)
	}
	m.link()
	return m
}

func (m *matcher) insert(pattern string) {
	at := int32(0)
	for i := range len(pattern) {
		next := m.child(at, pattern[i])
		if next == 0 {
			next = int32(len(m.nodes))
			m.nodes = append(m.nodes, node{depth: int32(i + 1), char: pattern[i]})
			if at == 0 {
				m.root[pattern[i]] = next
			} else {
				m.nodes[next].next, m.nodes[at].first = m.nodes[at].first, next
			}
		}
		at = next
	}
	m.nodes[at].match = int32(len(pattern))
}

// child returns 0 where there is none.
func (m *matcher) child(at int32, char byte) int32 {
	if at == 0 {
		return m.root[char]
	}
	child := m.nodes[at].first
	for child != 0 && m.nodes[child].char != char {
		child = m.nodes[child].next
	}
	return child
}

// link sets the failure links, breadth first.
func (m *matcher) link() {
	var queue []int32
	for _, first := range m.root {
		if first != 0 {
			queue = append(queue, first)
		}
	}
	for len(queue) > 0 {
		at := queue[0]
		queue = queue[1:]
		for to := m.nodes[at].first; to != 0; to = m.nodes[to].next {
			fail := m.next(m.nodes[at].fail, m.nodes[to].char)
			m.nodes[to].fail = fail
			m.nodes[to].match = max(m.nodes[to].match, m.nodes[fail].match)
			queue = append(queue, to)
		}
	}
}

// next is the state after one more byte.
func (m *matcher) next(at int32, char byte) int32 {
	for at != 0 {
		if to := m.child(at, char); to != 0 {
			return to
		}
		at = m.nodes[at].fail
	}
	return m.root[char]
}

func (m *matcher) empty() bool { return len(m.nodes) == 1 }

// matches reports whether text holds any pattern.
func matches[T string | []byte](m *matcher, text T) bool {
	at := int32(0)
	for i := range len(text) {
		at = m.next(at, text[i])
		if m.nodes[at].match > 0 {
			return true
		}
	}
	return false
}

package secret

import (
	"io"
	"slices"
)

// scanner masks a stream chunk by chunk.
type scanner struct {
	redactor *Redactor
	out      io.Writer

	matcher *matcher
	state   int32  // of matcher, after all of held
	held    []byte // read, not yet written
	spans   []span // of secrets in held, ascending, apart from each other
	masking bool   // the last thing written is a mask that may go on
}

// span is a part of held: [from, to).
type span struct{ from, to int }

// Write takes a chunk. It returns len(chunk) unless the writer below fails.
func (s *scanner) Write(chunk []byte) (int, error) {
	if m := s.redactor.matcher(); m != s.matcher {
		// New secrets came: what is held may be the beginning of one of them.
		held, known := s.held, s.spans
		s.matcher, s.state, s.held, s.spans = m, 0, nil, nil
		s.read(held)
		s.spans = union(known, s.spans)
	}
	s.read(chunk)
	if err := s.write(s.settled()); err != nil {
		return 0, err
	}
	return len(chunk), nil
}

// Flush writes all that is held back.
func (s *scanner) Flush() error {
	err := s.write(len(s.held))
	s.state, s.masking = 0, false
	return err
}

func (s *scanner) read(chunk []byte) {
	for _, char := range chunk {
		s.held = append(s.held, char)
		s.state = s.matcher.next(s.state, char)
		if length := int(s.matcher.nodes[s.state].match); length > 0 {
			s.mark(len(s.held)-length, len(s.held))
		}
	}
}

// mark joins a new secret with those that it overlaps.
func (s *scanner) mark(from, to int) {
	from = max(from, 0) // its beginning may be masked and written already
	for len(s.spans) > 0 && s.spans[len(s.spans)-1].to >= from {
		from = min(from, s.spans[len(s.spans)-1].from)
		s.spans = s.spans[:len(s.spans)-1]
	}
	s.spans = append(s.spans, span{from, to})
}

// union joins two lists of spans.
func union(a, b []span) []span {
	all := slices.SortedFunc(slices.Values(append(a, b...)), func(x, y span) int { return x.from - y.from })
	var joined []span
	for _, next := range all {
		if last := len(joined) - 1; last >= 0 && next.from <= joined[last].to {
			joined[last].to = max(joined[last].to, next.to)
		} else {
			joined = append(joined, next)
		}
	}
	return joined
}

// settled returns how much of held no later byte can make part of a secret that
// begins in it.
func (s *scanner) settled() int {
	return max(len(s.held)-int(s.matcher.nodes[s.state].depth), 0)
}

// write writes the first n bytes of held, with a mask for each secret. A secret
// that goes on behind them is masked once: its rest is written without a second
// mask.
func (s *scanner) write(n int) error {
	var out []byte
	at := 0
	for at < n {
		if len(s.spans) == 0 || s.spans[0].from >= n {
			out = s.clear(out, s.held[at:n])
			break
		}
		first := s.spans[0]
		out = s.clear(out, s.held[at:first.from])
		if !s.masking {
			out = append(out, Redacted...)
			s.masking = true
		}
		at = min(first.to, n)
		if first.to > n {
			break
		}
		s.spans = s.spans[1:]
	}
	s.drop(n)
	if len(out) == 0 {
		return nil
	}
	_, err := s.out.Write(out)
	return err
}

func (s *scanner) clear(out, text []byte) []byte {
	if len(text) > 0 {
		s.masking = false
	}
	return append(out, text...)
}

// drop forgets the first n bytes of held.
func (s *scanner) drop(n int) {
	s.held = append(s.held[:0], s.held[n:]...)
	for i := range s.spans {
		s.spans[i].from = max(s.spans[i].from-n, 0)
		s.spans[i].to -= n
	}
}

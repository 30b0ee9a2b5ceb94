package conformance

import (
	"bytes"
	"strings"
	"sync"

	"google.golang.org/protobuf/proto"
)

// maxHeard bounds what is kept of one message.
const maxHeard = 1 << 20

// ear keeps what the plugin told, but for what it may tell secrets in. Safe for concurrent
// use.
type ear struct {
	mu    sync.Mutex
	heard []heard
}

type heard struct {
	where string
	text  []byte
}

// hear keeps a text or a message.
func (e *ear) hear(where string, what any) {
	var text []byte
	switch what := what.(type) {
	case []byte:
		text = bytes.Clone(what)
	case proto.Message:
		text, _ = proto.Marshal(what) // it came from the wire
	}
	if len(text) == 0 {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if last := len(e.heard) - 1; last >= 0 && e.heard[last].where == where && len(e.heard[last].text) < maxHeard {
		e.heard[last].text = append(append(e.heard[last].text, '\n'), text...) // a text may lie across two reads
		return
	}
	e.heard = append(e.heard, heard{where, text[:min(len(text), maxHeard)]})
}

// find returns where a text was heard, "" = nowhere.
func (e *ear) find(text string) string {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, h := range e.heard {
		if bytes.Contains(h.text, []byte(text)) {
			return h.where
		}
	}
	return ""
}

// canaries are texts that no plugin may tell. Safe for concurrent use.
type canaries struct {
	mu    sync.Mutex
	known []canary
}

type canary struct{ what, text string }

// shortest is how long a text must be to be looked for: shorter ones stand anywhere.
const shortest = 8

func (c *canaries) add(what, text string) {
	if len(text) < shortest {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, known := range c.known {
		if known.text == text {
			return
		}
	}
	c.known = append(c.known, canary{what, text})
}

func (c *canaries) all() []canary {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]canary{}, c.known...)
}

func (c *canaries) mask(text string) string {
	for _, known := range c.all() {
		text = strings.ReplaceAll(text, known.text, "[secret]")
	}
	return text
}

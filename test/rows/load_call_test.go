package rows

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// setCall reads an entry of a call.
func (l *loader) setCall(c *call, word, value string) error {
	switch word {
	case "with:":
		c.with = nil
		return merge(&c.with, value)
	case "file":
		c.file = true
		return nil
	case "wait:":
		d, err := time.ParseDuration(value)
		c.wait = d
		return err
	case ">":
		return l.setRequest(c, value)
	case ">>":
		if len(c.sends) == 0 {
			return errors.New("a body without a request")
		}
		c.sends[len(c.sends)-1].body = &value
		return nil
	case "<":
		c.mine()
		a, err := parseAnswer(value)
		c.answers = append(c.answers, a)
		return err
	case "<h", "<<":
		if len(c.answers) == 0 {
			return fmt.Errorf("%s without an answer", word)
		}
		return c.answers[len(c.answers)-1].add(word, value)
	}
	c.mine()
	return c.want.set(word, value)
}

// mine clears what was taken over of an ending: the case tells its own.
func (c *call) mine() {
	if !c.declared {
		c.declared, c.want, c.answers = true, want{}, nil
	}
}

func (l *loader) setRequest(c *call, value string) error {
	last := func() (*request, error) {
		if len(c.sends) == 0 {
			return nil, errors.New("a header without a request")
		}
		return &c.sends[len(c.sends)-1], nil
	}
	switch {
	case value == "none":
		c.quiet, c.sends, c.answers = true, nil, nil
		return nil
	case value == "new": // requests of its own instead of those taken over
		c.sends, c.quiet = nil, false
		return nil
	case value == "same": // the last request once more
		r, err := last()
		if err != nil {
			return err
		}
		c.sends = append(slices.Clone(c.sends), *r)
		return nil
	case strings.HasPrefix(value, "-"):
		r, err := last()
		if err == nil {
			r.absent = append(r.absent, strings.TrimPrefix(value, "-"))
		}
		return err
	case value == "tls":
		r, err := last()
		if err == nil {
			r.secure = true
		}
		return err
	case strings.HasPrefix(value, "only "):
		r, err := last()
		if err == nil {
			r.exactly = strings.Split(strings.TrimPrefix(value, "only "), ", ")
		}
		return err
	}
	if name, text, found := strings.Cut(value, ": "); found && !strings.Contains(name, " ") {
		r, err := last()
		if err == nil {
			r.headers = append(slices.Clone(r.headers), [2]string{name, text})
		}
		return err
	}
	if !requestLine.MatchString(value) {
		return fmt.Errorf("%q is neither METHOD /target nor a header", value)
	}
	c.quiet = false
	c.sends = append(slices.Clone(c.sends), request{line: value})
	return nil
}

package memstore

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/flowrun/flowrun/engine/quota"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/store"
)

// log is what a run and its steps have written.
type log struct {
	lines []logLine
	steps map[string]*stepLog
}

type logLine struct {
	runs.Log
	size int
}

// copied is a line as it is given out.
func (l logLine) copied() runs.Log {
	l.Fields = bytes.Clone(l.Fields)
	return l.Log
}

type stepLog struct{ bytes, dropped int }

func encodeLog(lines []runs.Log) (encoded []logLine, err error) {
	for _, line := range lines {
		data, err := json.Marshal(line)
		if err != nil {
			return nil, fmt.Errorf("encode log line of %s: %w", line.Step, err)
		}
		encoded = append(encoded, logLine{clone(line), len(data)})
	}
	return encoded, nil
}

// add keeps lines up to the bound of their step.
func (l *log) add(lines []logLine) {
	if l.steps == nil {
		l.steps = map[string]*stepLog{}
	}
	for _, line := range lines {
		step := l.steps[line.Step]
		if step == nil {
			step = &stepLog{}
			l.steps[line.Step] = step
		}
		if step.bytes+line.size > quota.MaxStepLog {
			step.dropped++
			continue
		}
		step.bytes += line.size
		l.lines = append(l.lines, line)
	}
}

func (l *log) bytes() (total int64) {
	for _, line := range l.lines {
		total += int64(line.size)
	}
	return total
}

// dropped are the lines that stand for those of a step ("" = of all) that were not kept.
func (l *log) dropped(step string, s *Store) (lines []logLine) {
	for _, path := range slices.Sorted(maps.Keys(l.steps)) {
		if of := l.steps[path]; of.dropped > 0 && (step == "" || step == path) {
			lines = append(lines, logLine{Log: store.DroppedLine(path, uint64(of.dropped), s.options.Now)})
		}
	}
	return lines
}

// Logs is that of store.Logs.
func (s *Store) Logs(id, step string, from uint64, limit int) (lines []runs.Log, next uint64, err error) {
	err = s.view(func(d *data) error {
		r, err := d.run(id)
		if err != nil {
			return err
		}
		for next = max(from, 1); next <= uint64(len(r.log.lines)); next++ {
			line := r.log.lines[next-1]
			if step != "" && line.Step != step {
				continue
			}
			if lines = append(lines, line.copied()); len(lines) == limit {
				next++
				return nil
			}
		}
		for _, line := range r.log.dropped(step, s) {
			lines = append(lines, line.Log)
		}
		return nil
	})
	return lines, next, err
}

// The bounds of one page.
const (
	pageLines = 20_000 // that it looks at
	pageBytes = 4 << 20
)

// LogPage is that of store.Logs.
func (s *Store) LogPage(id string, q store.LogQuery) (page *store.LogPage, err error) {
	var lines []logLine
	err = s.view(func(d *data) error {
		r, err := d.run(id)
		if err == nil {
			lines = append(slices.Clone(r.log.lines), r.log.dropped("", s)...)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	// Both ways lead over the lines from at to end, which is not one of them.
	at, end, step := int(max(q.From, 1))-1, len(lines), 1
	if q.Back {
		at, end, step = len(lines)-1, -1, -1
		if q.From > 0 {
			at = min(at, int(q.From)-2)
		}
	}
	page = &store.LogPage{}
	for seen, room := 0, pageBytes; at != end && (q.Back || at < end); at += step {
		if len(page.Lines) == max(q.Limit, 1) || seen == pageLines || room <= 0 {
			page.Next = uint64(at + 1)
			if q.Back {
				page.Next++
			}
			break
		}
		line := lines[at].copied()
		if seen++; q.Match == nil || q.Match(&line) {
			page.Lines = append(page.Lines, line)
			room -= lines[at].size
		}
	}
	if q.Back {
		slices.Reverse(page.Lines)
	}
	return page, nil
}

// LogSteps is that of store.Logs.
func (s *Store) LogSteps(id string, most int) (steps []string, err error) {
	err = s.view(func(d *data) error {
		r, err := d.run(id)
		if err == nil {
			steps = slices.Sorted(maps.Keys(r.log.steps))
			steps = steps[:min(most, len(steps))]
		}
		return err
	})
	return steps, err
}

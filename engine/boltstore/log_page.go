package boltstore

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	bolt "github.com/flowrun/flowrun/engine/boltstore/sealedpages"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/store"
)

// scanLines bounds how many lines one LogPage looks at: where few of them fit, a
// page is short before the end.
const scanLines = 20_000

// firstDropped is the number of the first line that stands for dropped ones: they
// come after all that are stored.
const firstDropped = 1 << 63

// pageBytes is what one LogPage holds, but for its last line: a page of long lines
// is short before the end.
const pageBytes = 4 << 20

// logPage is a page that is being filled.
type logPage struct {
	store.LogPage
	bytes int // of Lines
}

// full reports whether a page takes no more lines.
func (p *logPage) full(limit int) bool { return len(p.Lines) == limit || p.bytes >= pageBytes }

// LogPage is that of store.Logs.
func (s *Store) LogPage(runID string, q store.LogQuery) (*store.LogPage, error) {
	run, err := runKey(runID)
	if err != nil {
		return nil, err
	}
	q.Limit = max(q.Limit, 1)
	if q.Back {
		return s.logsBefore(runID, run, q)
	}
	return s.logsFrom(runID, run, q)
}

// logsFrom reads forwards.
func (s *Store) logsFrom(runID string, run []byte, q store.LogQuery) (*store.LogPage, error) {
	page, next, seen := &logPage{}, max(q.From, 1), 0
	for more := next < firstDropped; more; {
		part, left, err := s.logPart(runID, run, next, false, wantedLines(q, len(page.Lines)))
		if err != nil {
			return nil, err
		}
		more = left
		for i, line := range part {
			if err := s.take(page, q.Match, line, run); err != nil {
				return nil, err
			}
			next, seen = line.number+1, seen+1
			if (page.full(q.Limit) || seen == scanLines) && (left || i+1 < len(part)) {
				page.Next = next
				return &page.LogPage, nil
			}
		}
	}
	dropped, err := s.droppedLines(run, "")
	if err != nil {
		return nil, err
	}
	for n := max(next, firstDropped); n-firstDropped < uint64(len(dropped)); n++ {
		line := dropped[n-firstDropped]
		if q.Match != nil && !q.Match(&line) {
			continue
		}
		if len(page.Lines) == q.Limit {
			page.Next = n
			break
		}
		page.Lines = append(page.Lines, line)
	}
	return &page.LogPage, nil
}

// logsBefore reads backwards.
func (s *Store) logsBefore(runID string, run []byte, q store.LogQuery) (*store.LogPage, error) {
	page, before := &logPage{}, q.From
	defer func() { slices.Reverse(page.Lines) }()
	if before == 0 || before > firstDropped {
		full, err := s.droppedBefore(page, run, q)
		if err != nil || full {
			return &page.LogPage, err
		}
		before = firstDropped
	}
	for more, seen := true, 0; more; {
		if len(page.Lines) == q.Limit { // by dropped lines alone
			page.Next = before
			break
		}
		part, left, err := s.logPart(runID, run, before, true, wantedLines(q, len(page.Lines)))
		if err != nil {
			return nil, err
		}
		more = left
		for i, line := range part {
			if err := s.take(page, q.Match, line, run); err != nil {
				return nil, err
			}
			before, seen = line.number, seen+1
			if (page.full(q.Limit) || seen == scanLines) && (left || i+1 < len(part)) {
				page.Next = before
				return &page.LogPage, nil
			}
		}
	}
	return &page.LogPage, nil
}

// droppedBefore begins a page with the lines that stand for dropped ones, the last
// one first. It reports whether they fill it.
func (s *Store) droppedBefore(page *logPage, run []byte, q store.LogQuery) (full bool, err error) {
	dropped, err := s.droppedLines(run, "")
	if err != nil {
		return false, err
	}
	at := uint64(len(dropped))
	if q.From != 0 {
		at = min(at, q.From-firstDropped)
	}
	for ; at > 0; at-- {
		if len(page.Lines) == q.Limit {
			page.Next = firstDropped + at
			return true, nil
		}
		if line := dropped[at-1]; q.Match == nil || q.Match(&line) {
			page.Lines = append(page.Lines, line)
		}
	}
	return false, nil
}

// wantedLines is how many lines are copied out at a time.
func wantedLines(q store.LogQuery, have int) int {
	if q.Match == nil {
		return min(q.Limit-have, viewRecords)
	}
	return viewRecords
}

// numberedLine is an encoded line with its number.
type numberedLine struct {
	number  uint64
	encoded []byte
}

// take adds a line to the page where it fits.
func (s *Store) take(page *logPage, match func(*runs.Log) bool, stored numberedLine, run []byte) error {
	var line runs.Log
	if err := json.Unmarshal(stored.encoded, &line); err != nil {
		return &store.CorruptError{Path: s.path, Bucket: string(bucketLogs), Key: hexKey(seqKey(run, stored.number)), Detail: err.Error()}
	}
	if match == nil || match(&line) {
		page.Lines = append(page.Lines, line)
		page.bytes += len(stored.encoded)
	}
	return nil
}

// logPart copies lines out in one transaction: those from a number on, or with
// back those before it, the nearest first. more says that there are others.
func (s *Store) logPart(runID string, run []byte, at uint64, back bool, wanted int) (part []numberedLine, more bool, err error) {
	err = s.view(func(tx *bolt.Tx) error {
		if tx.Bucket(bucketRuns).Get(run) == nil {
			return fmt.Errorf("run %s: %w", runID, store.ErrRunNotFound)
		}
		cursor, size := tx.Bucket(bucketLogs).Cursor(), 0
		key, value := cursor.Seek(seqKey(run, at))
		step := cursor.Next
		if back {
			step = cursor.Prev
			if key == nil {
				key, value = cursor.Last()
			} else {
				key, value = cursor.Prev()
			}
		}
		for ; bytes.HasPrefix(key, run); key, value = step() {
			if len(part) == wanted || size > viewBytes {
				more = true
				return nil
			}
			line, err := unseal(bucketLogs, key, value)
			if err != nil {
				return err
			}
			part = append(part, numberedLine{keySeq(key), bytes.Clone(line)})
			size += len(line)
		}
		return nil
	})
	return part, more, err
}

// LogSteps is that of store.Logs.
func (s *Store) LogSteps(runID string, most int) (steps []string, err error) {
	run, err := runKey(runID)
	if err != nil {
		return nil, err
	}
	err = s.view(func(tx *bolt.Tx) error {
		if tx.Bucket(bucketRuns).Get(run) == nil {
			return fmt.Errorf("run %s: %w", runID, store.ErrRunNotFound)
		}
		cursor := tx.Bucket(bucketLogSizes).Cursor()
		for key, value := cursor.Seek(run); bytes.HasPrefix(key, run) && len(steps) < most; key, value = cursor.Next() {
			stored, err := unseal(bucketLogSizes, key, value)
			if err != nil {
				return err
			}
			if len(stored) < 16 {
				return &store.CorruptError{Bucket: string(bucketLogSizes), Key: hexKey(key), Detail: "too short"}
			}
			steps = append(steps, string(stored[16:]))
		}
		return nil
	})
	return steps, err
}

package store

import (
	"errors"
	"fmt"
	"strings"
)

// Report is what a check of a store file found.
type Report struct {
	Path      string `json:"path"`
	Bytes     int64  `json:"bytes"`
	Pages     int    `json:"pages"`
	FreePages int    `json:"free_pages"`
	Schema    uint64 `json:"schema"`
	Epoch     uint64 `json:"-"` // how often it was restored
	Closed    bool   `json:"-"` // its last program closed it
	Runs      int    `json:"runs"`
	Records   int    `json:"records"` // of journals
	Blobs     int    `json:"blobs"`

	LargeValues int   `json:"large_values,omitempty"`
	LargeBytes  int64 `json:"large_bytes,omitempty"` // that they take
	LargeLeft   int   `json:"large_left,omitempty"`  // files of large values that nothing refers to: upkeep removes them

	Problems []Problem `json:"problems"`       // none: the file is whole
	More     int       `json:"more,omitempty"` // problems that are not listed
}

// Problem is one fault of a file. Page is 0 and Bucket empty where it is not of
// a page or a record.
type Problem struct {
	Page   uint64 `json:"page,omitempty"`
	Bucket string `json:"bucket,omitempty"`
	Key    string `json:"key,omitempty"` // in hex
	Detail string `json:"detail"`
}

// String names the place and the fault.
func (p Problem) String() string {
	var place []string
	if p.Page != 0 {
		place = append(place, fmt.Sprintf("page %d", p.Page))
	}
	if p.Bucket != "" {
		place = append(place, p.Bucket)
	}
	if p.Key != "" {
		place = append(place, "record "+p.Key)
	}
	if len(place) == 0 {
		return p.Detail
	}
	return strings.Join(place, ", ") + ": " + p.Detail
}

// maxProblems bounds a report: one damaged page may spoil thousands of records.
const maxProblems = 100

// Add puts a fault into the report; nil is none.
func (r *Report) Add(err error) {
	if err == nil {
		return
	}
	if len(r.Problems) == maxProblems {
		r.More++
		return
	}
	problem := Problem{Detail: err.Error()}
	if corrupt, ok := errors.AsType[*CorruptError](err); ok {
		problem = Problem{Page: corrupt.Page, Bucket: corrupt.Bucket, Key: corrupt.Key, Detail: corrupt.Detail}
	}
	r.Problems = append(r.Problems, problem)
}

// Err returns nil for a whole file, else a *CorruptError with its first problem.
func (r *Report) Err() error {
	if len(r.Problems) == 0 {
		return nil
	}
	first := r.Problems[0]
	detail := first.Detail
	if others := len(r.Problems) + r.More - 1; others > 0 {
		detail += fmt.Sprintf(" (and %d more problems)", others)
	}
	return &CorruptError{Path: r.Path, Page: first.Page, Bucket: first.Bucket, Key: first.Key, Detail: detail}
}

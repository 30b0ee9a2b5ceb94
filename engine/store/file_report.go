package store

import (
	"errors"
	"fmt"
)

// Report is what a check of a store file found. No Problems: the file is whole.
type Report struct {
	Path             string
	Bytes            int64
	Pages, FreePages int
	Schema           uint64
	Epoch            uint64 // how often it was restored
	Closed           bool   // its last program closed it
	Runs             int
	Records          int // of journals
	Blobs            int
	Problems         []Problem
	More             int // problems that are not listed
}

// Problem is one fault of a file. Page is 0 and Bucket empty where it is not of
// a page or a record. Key is in hex.
type Problem struct {
	Page   uint64
	Bucket string
	Key    string
	Detail string
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
	if corrupt := (*CorruptError)(nil); errors.As(err, &corrupt) {
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

package sealedpages

import bbolt "go.etcd.io/bbolt"

// bbolt looks for free pages in the whole tree when a commit fails and the last one has
// stored no list of them: on a goroutine of its own, where a page that nobody has
// compared ends the process. It says what failed just before, to its logger, on the
// goroutine of the commit: failures takes it from there, so that it never comes to look.
// Who uses them writes no more after a failure: what was free is not asked for again.

// Failures returns what Options.Logger must be for a file of which not all pages were
// compared. A commit of such a file fails with bbolt's error, as without; each Put and
// Delete of a transaction costs two small allocations more.
func Failures() bbolt.Logger { return failures{} }

// commitFailure is what a commit that failed is left with.
type commitFailure struct{ err error }

// beforeRollback are the words of bbolt before it takes a commit back. A test holds each
// of them against the version that is linked.
func beforeRollback(format string) bool {
	switch format {
	case "allocating failed, txid: %d, count: %d, error: %v", // of pages, or of the list of free pages
		"spilling data onto dirty pages failed: %v",
		"growing db size failed, pgid: %d, pagesize: %d, error: %v",
		"writing data failed: %v",
		"writeMeta failed: %v":
		return true
	}
	return false
}

type failures struct{}

// Errorf is told of the error of a commit, which is the last of args.
func (failures) Errorf(format string, args ...any) {
	if !beforeRollback(format) || len(args) == 0 {
		return
	}
	if err, ok := args[len(args)-1].(error); ok {
		panic(&commitFailure{err})
	}
}

func (failures) Debug(...any)            {}
func (failures) Debugf(string, ...any)   {}
func (failures) Error(...any)            {}
func (failures) Info(...any)             {}
func (failures) Infof(string, ...any)    {}
func (failures) Warning(...any)          {}
func (failures) Warningf(string, ...any) {}
func (failures) Fatal(...any)            {}
func (failures) Fatalf(string, ...any)   {}
func (failures) Panic(...any)            {}
func (failures) Panicf(string, ...any)   {}

// commit is that of bbolt; where Failures are set it fails without a look at the tree.
func commit(raw *bbolt.Tx) (err error) {
	defer func() {
		switch failed := recover().(type) {
		case nil:
		case *commitFailure:
			err = failed.err
		default:
			panic(failed)
		}
	}()
	return raw.Commit()
}

// forget ends a transaction that was not committed, without a look at the tree either,
// whatever has happened. After a commit it does nothing.
func forget(raw *bbolt.Tx) {
	if raw.DB() != nil {
		_ = raw.Rollback()
	}
}

//go:build linux && (amd64 || arm64)

package storefaults_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/flowrun/flowrun/engine/boltstore"
	"github.com/flowrun/flowrun/engine/store"
	"github.com/flowrun/flowrun/engine/storetest"
)

// largeJob is what a child does to a store with large values. It writes "did N" for each
// operation that was acknowledged, and "failed N TEXT" for one that was not.
type largeJob struct {
	Path  string
	Again bool // after a failure it tries the operation once more, and goes on
	Early bool // control: acknowledges before the store has answered
}

// largeOp is one operation on the large values of a store. pieces are what stands in an
// upload afterwards.
type largeOp struct {
	name string
	do   func(s *boltstore.Store) error
}

// largeState is what must be there after some operations.
type largeState struct {
	uploads map[string]string // of run 1, on their way: content by name
	values  map[string][]int  // content -> runs that read it
}

func largePiece(letter string, n int) string { return strings.Repeat(letter, 3000+n) }

// largeOps are the operations, each with the state that it leaves.
func largeOps() (ops []largeOp, states []largeState) {
	one, two := storetest.ID(1), storetest.ID(2)
	state := largeState{uploads: map[string]string{}, values: map[string][]int{}}
	states = append(states, state.clone())
	op := func(name string, do func(s *boltstore.Store) error, change func(s *largeState)) {
		change(&state)
		ops, states = append(ops, largeOp{name, do}), append(states, state.clone())
	}
	put := func(upload string, offset int, text string) {
		op(fmt.Sprintf("put %s at %d", upload, offset), func(s *boltstore.Store) error {
			return s.Blobs(storetest.Rot{}).AppendBlob(one, upload, int64(offset), []byte(text), upload == "v", []byte("note"))
		}, func(s *largeState) { s.uploads[upload] = s.uploads[upload][:offset] + text })
	}
	finish := func(upload string) {
		op("finish "+upload, func(s *boltstore.Store) error {
			_, err := s.Blobs(storetest.Rot{}).FinishBlob(one, upload)
			return err
		}, func(s *largeState) {
			content := s.uploads[upload]
			delete(s.uploads, upload)
			s.values[content] = append(s.values[content], 1)
		})
	}
	op("create", func(s *boltstore.Store) error {
		for n := 1; n <= 2; n++ {
			_, err := s.CreateRun(context.Background(), storetest.Row(n), storetest.PlanBytes(), "", storetest.Started(n))
			if err != nil && !errors.Is(err, store.ErrRunExists) {
				return err
			}
		}
		return nil
	}, func(*largeState) {})
	a := largePiece("a", 0) + largePiece("b", 1) + largePiece("c", 2)
	put("u", 0, largePiece("a", 0))
	put("u", 3000, largePiece("b", 1))
	put("u", 6001, largePiece("c", 2))
	finish("u")
	put("v", 0, largePiece("d", 0))
	put("v", 3000, largePiece("e", 1))
	put("v", 3000, largePiece("f", 0)) // the second part once more
	put("v", 0, largePiece("g", 0))    // anew
	put("v", 3000, largePiece("h", 2))
	finish("v")
	op("share", func(s *boltstore.Store) error {
		return s.Blobs(nil).ShareBlob(one, two, largeDigest(a))
	}, func(s *largeState) { s.values[a] = []int{1, 2} })
	put("x"+store.UploadPrefix("", ""), 0, largePiece("i", 0))
	op("drop", func(s *boltstore.Store) error {
		return s.Blobs(nil).DropUploads(one, "x", nil)
	}, func(s *largeState) { s.uploads = map[string]string{} })
	put("y", 0, largePiece("j", 0))
	op("close", func(s *boltstore.Store) error {
		return storetest.Append(s, one, nil, storetest.Closed(*storetest.Row(1)))
	}, func(s *largeState) { s.uploads = map[string]string{} })
	op("delete", func(s *boltstore.Store) error {
		err := s.DeleteRun(one)
		if errors.Is(err, store.ErrRunNotFound) {
			err = nil
		}
		return err
	}, func(s *largeState) { s.values = map[string][]int{a: {2}} })
	op("sweep", func(s *boltstore.Store) error {
		_, err := s.SweepBlobs(context.Background())
		return err
	}, func(*largeState) {})
	return ops, states
}

func largeDigest(text string) string {
	sum := largeSum(text)
	return store.BlobDigest(sum[:])
}

func (s largeState) clone() largeState {
	copied := largeState{uploads: map[string]string{}, values: map[string][]int{}}
	for name, content := range s.uploads {
		copied.uploads[name] = content
	}
	for content, runs := range s.values {
		copied.values[content] = append([]int(nil), runs...)
	}
	return copied
}

func largeWork(argument string) int {
	var j largeJob
	if err := json.Unmarshal([]byte(argument), &j); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	s, err := boltstore.Open(j.Path, storeOptions(32<<10))
	if err != nil {
		say("failed open %v", err)
		return 0
	}
	say("opened")
	ops, _ := largeOps()
	for n, op := range ops {
		if j.Early {
			say("did %d", n+1)
		}
		err := op.do(s)
		if err != nil {
			say("failed %d %s", n+1, strings.ReplaceAll(err.Error(), "\n", " "))
			if !j.Again {
				break
			}
			if err = op.do(s); err != nil {
				say("failed twice %d %s", n+1, err)
				break
			}
		}
		if !j.Early {
			say("did %d", n+1)
		}
	}
	if err := s.Close(); err != nil {
		say("failed close %v", err)
	}
	say("end")
	return 0
}

// largeFaults returns what is wrong with a store after operations, of which the first done
// were acknowledged, and one more may have happened, or a part of it.
func largeFaults(path string, done int) (wrong []string) {
	report, err := boltstore.CheckFile(context.Background(), path, storeOptions(32<<10))
	switch {
	case errors.Is(err, os.ErrNotExist) && done == 0:
		return nil
	case err != nil:
		return []string{err.Error()}
	case report.Err() != nil:
		return []string{report.Err().Error()}
	}
	s, err := boltstore.Open(path, storeOptions(32<<10))
	if err != nil {
		return []string{err.Error()}
	}
	defer func() {
		if err := s.Close(); err != nil {
			wrong = append(wrong, err.Error())
		}
	}()
	_, states := largeOps()
	now, next := states[done], states[min(done+1, len(states)-1)]
	say := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	for content, runs := range now.values {
		for _, run := range runs {
			got, err := largeRead(s, run, content)
			if err != nil && !contains(next.values[content], run) {
				continue // it was going
			}
			if err != nil || got != content {
				say("run %d: a value of %d bytes: %d, %v", run, len(content), len(got), err)
			}
		}
	}
	for upload, content := range now.uploads {
		after, stays := next.uploads[upload]
		stage, err := s.Blobs(storetest.Rot{}).StageBlob(storetest.ID(1), upload)
		if err != nil {
			say("upload %s: %v", upload, err)
			continue
		}
		if !stays {
			continue // it was finished or dropped in this moment
		}
		common := len(commonBegin(content, after))
		if int(stage.Size) < common {
			say("upload %s: %d bytes are left, %d were acknowledged", upload, stage.Size, common)
			continue
		}
		info, err := s.Blobs(storetest.Rot{}).FinishBlob(storetest.ID(1), upload)
		if errors.Is(err, store.ErrBlobUnknown) && common == 0 {
			continue
		}
		if err != nil {
			say("upload %s: %v", upload, err)
			continue
		}
		// What the next operation writes over may be gone in part; it is no shorter than what stays.
		if d := info.Digest; d != largeDigest(content[:min(int(info.Size), len(content))]) && d != largeDigest(after) {
			say("upload %s holds neither what was acknowledged nor what was to follow: %d bytes", upload, info.Size)
		}
	}
	if sweep, err := s.SweepBlobs(context.Background()); err != nil {
		say("sweep: %+v, %v", sweep, err)
	}
	for content, runs := range now.values {
		for _, run := range runs {
			if got, err := largeRead(s, run, content); contains(next.values[content], run) && (err != nil || got != content) {
				say("after the sweep run %d lacks a value: %v", run, err)
			}
		}
	}
	return wrong
}

func contains(list []int, n int) bool {
	for _, one := range list {
		if one == n {
			return true
		}
	}
	return false
}

func commonBegin(a, b string) string {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return a[:n]
}

func largeRead(s *boltstore.Store, run int, content string) (string, error) {
	reader, err := s.Blobs(storetest.Rot{}).OpenBlob(storetest.ID(run), largeDigest(content))
	if err != nil {
		return "", err
	}
	defer reader.Close()
	data := bytes.Repeat([]byte{0}, int(reader.Size()))
	_, err = reader.ReadAt(data, 0)
	return string(data), err
}

package boltstore_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/flowrun/flowrun/engine/boltstore"
	"github.com/flowrun/flowrun/engine/store"
	"github.com/flowrun/flowrun/engine/storetest"
)

// largeContent is what large values of these tests hold.
func largeContent(n, size int) []byte {
	return bytes.Repeat([]byte(fmt.Sprintf("line %d of a large value\n", n)), size/24)
}

// putLarge makes a large value of the nth run, of three parts.
func putLarge(t *testing.T, s *boltstore.Store, run, n int) store.BlobInfo {
	t.Helper()
	data, name := largeContent(n, 3000), store.UploadPrefix("fetch", "call")+fmt.Sprint(n)
	for at := 0; at < len(data); at += 1000 {
		if err := s.Blobs(nil).AppendBlob(storetest.ID(run), name, int64(at), data[at:min(at+1000, len(data))], false, nil); err != nil {
			t.Fatal(err)
		}
	}
	info, err := s.Blobs(nil).FinishBlob(storetest.ID(run), name)
	if err != nil {
		t.Fatal(err)
	}
	return info
}

// readLarge reads a large value, or tells why it can't be read.
func readLarge(s *boltstore.Store, run int, digest string) ([]byte, error) {
	r, err := s.Blobs(nil).OpenBlob(storetest.ID(run), digest)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return io.ReadAll(io.NewSectionReader(r, 0, r.Size()))
}

func wantLarge(t *testing.T, s *boltstore.Store, run, n int, digest string) {
	t.Helper()
	if data, err := readLarge(s, run, digest); err != nil || !bytes.Equal(data, largeContent(n, 3000)) {
		t.Errorf("value %d of run %d: %d bytes, %v", n, run, len(data), err)
	}
}

// largeFiles lists the files of large values beside a store.
func largeFiles(t *testing.T, path string) (files []string) {
	t.Helper()
	err := filepath.WalkDir(path+store.LargeSuffix, func(name string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Type().IsRegular() {
			files = append(files, name)
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func openTimed(t *testing.T, path string) *boltstore.Store {
	t.Helper()
	s, err := boltstore.Open(path, timed())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func closeStore(t *testing.T, s *boltstore.Store) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

func checkLarge(t *testing.T, path string) *store.Report {
	t.Helper()
	report, err := boltstore.CheckFile(t.Context(), path, quick())
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// TestABackupHoldsLargeValues as they were, though an upload goes on and a run is removed
// meanwhile; what is restored reads them, and what lay there is kept with its own.
func TestABackupHoldsLargeValues(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path, copied := filepath.Join(dir, "flowrun.db"), filepath.Join(dir, "backup.db")
	s := openTimed(t, path)
	for n := 1; n <= 2; n++ {
		storetest.Create(t, s, storetest.Row(n), n)
	}
	first, second := putLarge(t, s, 1, 1), putLarge(t, s, 2, 2)
	if err := s.Blobs(nil).AppendBlob(storetest.ID(1), "open", 0, []byte("on its way"), false, nil); err != nil {
		t.Fatal(err)
	}
	info, err := s.Backup(t.Context(), copied)
	if err != nil || info.LargeValues != 2 || info.LargeBytes != first.Stored+second.Stored {
		t.Fatalf("%+v, %v", info, err)
	}
	if err := s.Blobs(nil).AppendBlob(storetest.ID(1), "open", 10, []byte(" still"), false, nil); err != nil {
		t.Fatal(err)
	}
	// After the backup: one goes, one comes.
	if err := storetest.Append(s, storetest.ID(2), nil, storetest.Closed(*storetest.Row(2))); err != nil {
		t.Fatal(err)
	}
	if err := s.DeleteRun(storetest.ID(2)); err != nil {
		t.Fatal(err)
	}
	third := putLarge(t, s, 1, 3)
	closeStore(t, s)

	report := checkLarge(t, copied)
	if report.Err() != nil || report.LargeValues != 2 || report.LargeLeft != 0 || len(largeFiles(t, copied)) != 2 {
		t.Errorf("the backup: %+v, files %v", report, largeFiles(t, copied))
	}
	restored, err := boltstore.Restore(t.Context(), copied, path, timed())
	if err != nil {
		t.Fatal(err)
	}
	s = openTimed(t, path)
	wantLarge(t, s, 1, 1, first.Digest)
	wantLarge(t, s, 2, 2, second.Digest)
	if _, err := readLarge(s, 1, third.Digest); !errors.Is(err, store.ErrBlobNotFound) {
		t.Errorf("what came after the backup: %v", err)
	}
	if stage, err := s.Blobs(nil).StageBlob(storetest.ID(1), "open"); err != nil || stage.Size != 0 {
		t.Errorf("what was on its way: %+v, %v", stage, err)
	}
	// The upload begins anew, in a file that the store before does not share.
	if err := s.Blobs(nil).AppendBlob(storetest.ID(1), "open", 0, []byte("anew"), false, nil); err != nil {
		t.Error(err)
	}
	sweep, err := s.SweepBlobs(t.Context())
	if err != nil || sweep.Files != 2 { // the third value, and the upload of before
		t.Errorf("swept %+v, %v", sweep, err)
	}
	closeStore(t, s)
	old := openTimed(t, restored.Old)
	defer func() { closeStore(t, old) }()
	wantLarge(t, old, 1, 1, first.Digest)
	wantLarge(t, old, 1, 3, third.Digest)
	if stage, err := old.Blobs(nil).StageBlob(storetest.ID(1), "open"); err != nil || stage.Size != 16 {
		t.Errorf("what was on its way in the store of before: %+v, %v", stage, err)
	}
}

// TestADamagedBackupOfLargeValuesIsNotRestored: nothing changes.
func TestADamagedBackupOfLargeValuesIsNotRestored(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(file string) error{
		"a part":      func(file string) error { return flipByte(file, 500) },
		"the end":     func(file string) error { return os.Truncate(file, 600) },
		"all of it":   os.Remove,
		"the control": func(string) error { return nil },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			path, copied := filepath.Join(dir, "flowrun.db"), filepath.Join(dir, "backup.db")
			s := openTimed(t, path)
			storetest.Create(t, s, storetest.Row(1), 1)
			digest := putLarge(t, s, 1, 1).Digest
			if _, err := s.Backup(t.Context(), copied); err != nil {
				t.Fatal(err)
			}
			closeStore(t, s)
			file := largeFiles(t, copied)[0]
			unlink(t, file) // the store's own file stays whole
			if err := spoil(file); err != nil {
				t.Fatal(err)
			}
			_, err := boltstore.Restore(t.Context(), copied, path, timed())
			corrupt := new(store.CorruptError)
			if name == "the control" {
				if err != nil {
					t.Error(err)
				}
			} else if !errors.As(err, &corrupt) || corrupt.Path != copied || !strings.Contains(err.Error(), digest) {
				t.Errorf("restored: %v", err)
			}
			s = openTimed(t, path)
			wantLarge(t, s, 1, 1, digest)
			closeStore(t, s)
		})
	}
}

// unlink makes of a file with several names one of its own.
func unlink(t *testing.T, file string) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err == nil {
		err = os.Remove(file)
	}
	if err == nil {
		err = os.WriteFile(file, data, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func flipByte(file string, at int64) error {
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	data[at] ^= 1
	return os.WriteFile(file, data, 0o600)
}

// TestADamagedPartIsNamed by a check and by whoever reads it: with run, step, file, part
// and offset. The parts before it can be read.
func TestADamagedPartIsNamed(t *testing.T) {
	t.Parallel()
	const second = 24 + 44 + 1000 // where the second part begins
	for name, c := range map[string]struct {
		spoil func(file string) error
		want  []string
		reads int
	}{
		"a byte of the second part": {func(file string) error { return flipByte(file, second+44+7) }, []string{"part 2 at offset 1068", "checksum does not match"}, 1000},
		"its head":                  {func(file string) error { return flipByte(file, second) }, []string{"part 2 at offset 1068"}, 0},
		"its checksum":              {func(file string) error { return flipByte(file, second+20) }, []string{"part 2 at offset 1068"}, 1000},
		"the begin":                 {func(file string) error { return flipByte(file, 3) }, []string{"does not begin"}, 0},
		"its end is cut off":        {func(file string) error { return os.Truncate(file, second+100) }, []string{"part 2 at offset 1068", "the file ends inside it"}, 0},
		"the last frame":            {func(file string) error { return os.Truncate(file, 24+3*44+3000) }, []string{"its end is missing"}, 0},
		"it is missing":             {os.Remove, []string{"the file is missing"}, 0},
		"it is empty":               {func(file string) error { return os.Truncate(file, 0) }, []string{"does not begin"}, 0},
		"the control":               {func(string) error { return nil }, nil, 3000},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "flowrun.db")
			s := openTimed(t, path)
			storetest.Create(t, s, storetest.Row(1), 1)
			digest := putLarge(t, s, 1, 1).Digest
			closeStore(t, s)
			file := largeFiles(t, path)[0]
			if err := c.spoil(file); err != nil {
				t.Fatal(err)
			}
			told := ""
			for _, problem := range checkLarge(t, path).Problems {
				told += problem.String() + "\n"
			}
			s = openTimed(t, path) // one damaged value holds nothing else up
			defer func() { closeStore(t, s) }()
			data, err := readLarge(s, 1, digest)
			if len(data) != c.reads {
				t.Errorf("%d bytes are read, %v", len(data), err)
			}
			if c.want == nil {
				if told != "" || err != nil {
					t.Errorf("%s, %v", told, err)
				}
				return
			}
			damage := new(store.BlobDamage)
			if !errors.As(err, &damage) || !errors.Is(err, store.ErrCorrupt) {
				t.Fatalf("read: %v", err)
			}
			for _, word := range append(c.want, digest, "run "+storetest.ID(1), "step fetch", file) {
				if !strings.Contains(err.Error(), word) {
					t.Errorf("who reads hears %q: %q is missing", err, word)
				}
				if !strings.Contains(told, word) {
					t.Errorf("the check says %q: %q is missing", told, word)
				}
			}
		})
	}
}

// TestAnotherFileInThePlaceOfALargeValueIsFound: one that is whole, and of another value.
func TestAnotherFileInThePlaceOfALargeValueIsFound(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "flowrun.db")
	s := openTimed(t, path)
	storetest.Create(t, s, storetest.Row(1), 1)
	digest := putLarge(t, s, 1, 1).Digest
	mine := largeFiles(t, path)[0]
	putLarge(t, s, 1, 2)
	for _, other := range largeFiles(t, path) {
		if other != mine {
			data, err := os.ReadFile(other)
			if err == nil {
				err = os.WriteFile(mine, data, 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	if _, err := readLarge(s, 1, digest); !errors.Is(err, store.ErrCorrupt) {
		t.Errorf("read: %v", err)
	}
	closeStore(t, s)
	if err := checkLarge(t, path).Err(); !errors.Is(err, store.ErrCorrupt) {
		t.Errorf("checked: %v", err)
	}
}

// TestASweepTakesFilesThatNoRowNames and no other: not what is on its way, not what is not
// its own.
func TestASweepTakesFilesThatNoRowNames(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "flowrun.db")
	s := openTimed(t, path)
	storetest.Create(t, s, storetest.Row(1), 1)
	digest := putLarge(t, s, 1, 1).Digest
	if err := s.Blobs(nil).AppendBlob(storetest.ID(1), "open", 0, []byte("on its way"), false, nil); err != nil {
		t.Fatal(err)
	}
	folder := path + store.LargeSuffix
	orphan := filepath.Join(folder, "ab", "ab"+strings.Repeat("0", 30))
	others := []string{filepath.Join(folder, "notes.txt"), filepath.Join(folder, "ab", "cd"+strings.Repeat("0", 30)), filepath.Join(folder, "ab", "x")}
	if err := os.MkdirAll(filepath.Join(folder, "ab"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, file := range append(others, orphan) {
		if err := os.WriteFile(file, []byte("left"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	closeStore(t, s)
	if report := checkLarge(t, path); report.Err() != nil || report.LargeLeft != 1 {
		t.Errorf("%+v", report)
	}
	s = openTimed(t, path)
	if sweep, err := s.SweepBlobs(t.Context()); err != nil || sweep.Files != 1 || sweep.Bytes != 4 {
		t.Errorf("%+v, %v", sweep, err)
	}
	for _, file := range others {
		if _, err := os.Stat(file); err != nil {
			t.Errorf("%s went, too: %v", file, err)
		}
	}
	wantLarge(t, s, 1, 1, digest)
	if stage, err := s.Blobs(nil).StageBlob(storetest.ID(1), "open"); err != nil || stage.Size != 10 {
		t.Errorf("%+v, %v", stage, err)
	}
	closeStore(t, s)
	if report := checkLarge(t, path); report.Err() != nil || report.LargeLeft != 0 {
		t.Errorf("%+v", report)
	}
}

// TestLargeFilesAreForTheOwnerAlone: 0600 in 0700.
func TestLargeFilesAreForTheOwnerAlone(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "flowrun.db")
	s := openTimed(t, path)
	storetest.Create(t, s, storetest.Row(1), 1)
	putLarge(t, s, 1, 1)
	copied := filepath.Join(filepath.Dir(path), "backup.db")
	if _, err := s.Backup(t.Context(), copied); err != nil {
		t.Fatal(err)
	}
	closeStore(t, s)
	for _, folder := range []string{path + store.LargeSuffix, copied + store.LargeSuffix} {
		err := filepath.WalkDir(folder, func(name string, entry fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			info, err := entry.Info()
			if err != nil {
				return err
			}
			want := fs.FileMode(0o600)
			if entry.IsDir() {
				want = 0o700
			}
			if info.Mode().Perm() != want {
				t.Errorf("%s has mode %s", name, info.Mode())
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
}

// TestManyUploadsKeepFewFilesOpen and all of them go on.
func TestManyUploadsKeepFewFilesOpen(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "flowrun.db")
	s := openTimed(t, path)
	storetest.Create(t, s, storetest.Row(1), 1)
	const uploads = 300
	for round := range 2 {
		for n := range uploads {
			if err := s.Blobs(nil).AppendBlob(storetest.ID(1), fmt.Sprint(n), int64(5*round), []byte("part "), false, nil); err != nil {
				t.Fatal(err)
			}
		}
	}
	open, err := os.ReadDir("/proc/self/fd")
	if err == nil {
		count := 0
		for _, entry := range open {
			if target, err := os.Readlink("/proc/self/fd/" + entry.Name()); err == nil && strings.HasPrefix(target, path+store.LargeSuffix) {
				count++
			}
		}
		if count > 64 {
			t.Errorf("%d files are open", count)
		}
	}
	for n := range uploads {
		if stage, err := s.Blobs(nil).StageBlob(storetest.ID(1), fmt.Sprint(n)); err != nil || stage.Size != 10 {
			t.Fatalf("upload %d: %+v, %v", n, stage, err)
		}
	}
	closeStore(t, s)
}

// TestARunThatIsRemovedTakesItsUploadsWith it, though somebody writes one.
func TestARunThatIsRemovedTakesItsUploadsWithIt(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "flowrun.db")
	s := openTimed(t, path)
	storetest.Create(t, s, storetest.Row(1), 1)
	putLarge(t, s, 1, 1)
	if err := s.Blobs(nil).AppendBlob(storetest.ID(1), "open", 0, []byte("x"), false, nil); err != nil {
		t.Fatal(err)
	}
	ended := storetest.Closed(*storetest.Row(1))
	if err := storetest.Append(s, storetest.ID(1), nil, ended); err != nil {
		t.Fatal(err)
	}
	if err := s.Blobs(nil).AppendBlob(storetest.ID(1), "open", 1, []byte("y"), false, nil); !errors.Is(err, store.ErrBlobOffset) && !errors.Is(err, store.ErrRunEnded) {
		t.Errorf("a part for a run that has ended: %v", err)
	}
	if err := s.Blobs(nil).AppendBlob(storetest.ID(1), "open", 0, []byte("y"), false, nil); !errors.Is(err, store.ErrRunEnded) {
		t.Errorf("an upload for a run that has ended: %v", err)
	}
	if files := largeFiles(t, path); len(files) != 1 {
		t.Errorf("%d files are left", len(files))
	}
	if err := s.DeleteRun(storetest.ID(1)); err != nil {
		t.Fatal(err)
	}
	if files := largeFiles(t, path); len(files) != 0 {
		t.Errorf("%v are left", files)
	}
	closeStore(t, s)
	if err := checkLarge(t, path).Err(); err != nil {
		t.Error(err)
	}
}

// TestRunsExpireWithTheirLargeValues by retention, as by hand.
func TestRunsExpireWithTheirLargeValues(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "flowrun.db")
	s := openTimed(t, path)
	for n := 1; n <= 3; n++ {
		storetest.Create(t, s, storetest.Row(n), n)
		putLarge(t, s, n, n)
		if err := storetest.Append(s, storetest.ID(n), nil, storetest.Closed(*storetest.Row(n))); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Expire(t.Context(), store.Retention{MaxRuns: 1}, storetest.Begin().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	if files := largeFiles(t, path); len(files) != 1 {
		t.Errorf("%d files are left", len(files))
	}
	closeStore(t, s)
}

// hooked is a context that does something when it is first asked for its end.
type hooked struct {
	context.Context
	once sync.Once
	do   func()
}

func (h *hooked) Err() error {
	h.once.Do(h.do)
	return h.Context.Err()
}

// TestABackupKeepsWhatGoesMeanwhile: a run that is removed after the backup has begun is in
// it with its large values; their files go when the backup has them.
func TestABackupKeepsWhatGoesMeanwhile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path, copied := filepath.Join(dir, "flowrun.db"), filepath.Join(dir, "backup.db")
	s := openTimed(t, path)
	storetest.Create(t, s, storetest.Row(1), 1)
	digest := putLarge(t, s, 1, 1).Digest
	if err := storetest.Append(s, storetest.ID(1), nil, storetest.Closed(*storetest.Row(1))); err != nil {
		t.Fatal(err)
	}
	during := &hooked{Context: t.Context(), do: func() {
		if err := s.DeleteRun(storetest.ID(1)); err != nil {
			t.Error(err)
		}
		if sweep, err := s.SweepBlobs(t.Context()); err != nil || sweep.Files != 0 {
			t.Errorf("swept %+v, %v", sweep, err)
		}
	}}
	if _, err := s.Backup(during, copied); err != nil {
		t.Fatal(err)
	}
	if files := largeFiles(t, path); len(files) != 0 {
		t.Errorf("after the backup %v are left", files)
	}
	closeStore(t, s)
	if report := checkLarge(t, copied); report.Err() != nil || report.LargeValues != 1 {
		t.Errorf("the backup: %+v", report)
	}
	backup := openTimed(t, copied)
	defer func() { closeStore(t, backup) }()
	wantLarge(t, backup, 1, 1, digest)
}

// TestP12NoPartIsTakenWhileTheDiskIsNearlyFull: what stands stays, and goes on when there is
// room again.
func TestP12NoPartIsTakenWhileTheDiskIsNearlyFull(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "flowrun.db")
	var free atomic.Uint64
	free.Store(1 << 40)
	o := timed()
	now := storetest.Begin()
	var mu sync.Mutex
	o.Now = func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		now = now.Add(time.Minute) // the file system is asked anew each time
		return now
	}
	o.FreeSpace = func(string) (uint64, uint64, error) { return free.Load(), 1 << 40, nil }
	s, err := boltstore.Open(path, o)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { closeStore(t, s) }()
	storetest.Create(t, s, storetest.Row(1), 1)
	put := func(offset int64) error {
		return s.Blobs(nil).AppendBlob(storetest.ID(1), "u", offset, []byte("part "), false, nil)
	}
	if err := put(0); err != nil {
		t.Fatal(err)
	}
	free.Store(64 << 20)
	if err := put(5); !errors.Is(err, store.ErrPressure) || !strings.Contains(err.Error(), path) && !strings.Contains(err.Error(), "disk") {
		t.Errorf("with 64 MiB free: %v", err)
	}
	if stage, err := s.Blobs(nil).StageBlob(storetest.ID(1), "u"); err != nil || stage.Size != 5 {
		t.Errorf("%+v, %v", stage, err)
	}
	free.Store(256 << 20) // no new run, and what is on its way goes on
	if err := put(5); err != nil {
		t.Error(err)
	}
}

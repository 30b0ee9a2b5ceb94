package blobfile_test

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/flowrun/flowrun/engine/boltstore/blobfile"
)

const most = 1000

// made writes parts into a new file, without its end where finish says so.
func made(t *testing.T, folder string, id blobfile.ID, parts [][]byte, finish bool) []byte {
	t.Helper()
	w, err := blobfile.Create(folder, id, nil, most)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	for _, part := range parts {
		if err := w.Append(part, false, nil); err != nil {
			t.Fatal(err)
		}
	}
	if finish {
		if _, err := w.Finish(); err != nil {
			t.Fatal(err)
		}
	}
	data, err := os.ReadFile(id.Path(folder))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestAnOlderPartIsNoneOfTheNewContent: a crash may leave the parts of before behind the new
// first one, of the same length; they are cut off.
func TestAnOlderPartIsNoneOfTheNewContent(t *testing.T) {
	t.Parallel()
	folder, id := t.TempDir(), blobfile.NewID("a")
	old := made(t, folder, id, [][]byte{[]byte("old first"), []byte("old second"), []byte("old third")}, false)
	fresh := made(t, folder, id, [][]byte{[]byte("new first")}, false)
	mixed := append(bytes.Clone(fresh), old[len(fresh):]...)
	if err := os.WriteFile(id.Path(folder), mixed, 0o600); err != nil {
		t.Fatal(err)
	}
	w, err := blobfile.Resume(folder, id, nil, most)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if w.Size() != int64(len("new first")) {
		t.Errorf("%d bytes are taken", w.Size())
	}
	if info, err := os.Stat(id.Path(folder)); err != nil || info.Size() != int64(len(fresh)) {
		t.Errorf("the file has %d bytes, %v", info.Size(), err)
	}
}

// TestEachCutOffFileResumesAtAWholePart: whatever the place at which it ends.
func TestEachCutOffFileResumesAtAWholePart(t *testing.T) {
	t.Parallel()
	folder, id := t.TempDir(), blobfile.NewID("b")
	parts := [][]byte{[]byte("first part"), []byte("2"), bytes.Repeat([]byte("3"), 100)}
	data := made(t, folder, id, parts, true)
	begins := map[int64]bool{0: true, 10: true, 11: true, 111: true}
	for end := range len(data) {
		if err := os.WriteFile(id.Path(folder), data[:end], 0o600); err != nil {
			t.Fatal(err)
		}
		w, err := blobfile.Resume(folder, id, nil, most)
		if end < 24 {
			if !errors.Is(err, os.ErrNotExist) {
				t.Errorf("%d bytes of a header: %v", end, err)
			}
			continue
		}
		if err != nil || !begins[w.Size()] {
			t.Fatalf("cut at %d: %v", end, err)
		}
		whole := bytes.Join(parts, nil)
		if err := w.Append(whole[w.Size():], false, nil); err != nil && w.Size() < 111 {
			t.Fatal(err)
		}
		info, err := w.Finish()
		if err != nil || info.Size != 111 {
			t.Errorf("cut at %d: %+v, %v", end, info, err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if again, err := blobfile.Verify(t.Context(), id.Path(folder), id); err != nil || again != info {
			t.Errorf("cut at %d: %+v, %v", end, again, err)
		}
	}
}

// TestEachFlippedBitIsTold by a check, and by whoever reads that part; none is read wrongly.
func TestEachFlippedBitIsTold(t *testing.T) {
	t.Parallel()
	folder, id := t.TempDir(), blobfile.NewID("c")
	parts := [][]byte{[]byte("first part"), []byte("2"), bytes.Repeat([]byte("3"), 100)}
	data := made(t, folder, id, parts, true)
	whole := bytes.Join(parts, nil)
	for at := range len(data) * 8 {
		spoiled := bytes.Clone(data)
		spoiled[at/8] ^= 1 << (at % 8)
		if err := os.WriteFile(id.Path(folder), spoiled, 0o600); err != nil {
			t.Fatal(err)
		}
		damage := new(blobfile.Damage)
		if _, err := blobfile.Verify(t.Context(), id.Path(folder), id); !errors.As(err, &damage) {
			t.Fatalf("bit %d: %v", at, err)
		}
		r, err := blobfile.Open(folder, id, nil)
		if errors.As(err, &damage) {
			continue
		}
		if err != nil {
			t.Fatalf("bit %d: %v", at, err)
		}
		got, err := io.ReadAll(io.NewSectionReader(r, 0, int64(len(whole))))
		if !errors.As(err, &damage) || !bytes.HasPrefix(whole, got) {
			t.Fatalf("bit %d: read %d bytes, %v", at, len(got), err)
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestAFileHasNoMorePartsThanItMay so that its index stays small.
func TestAFileHasNoMorePartsThanItMay(t *testing.T) {
	t.Parallel()
	w, err := blobfile.Create(t.TempDir(), blobfile.NewID("d"), nil, 3)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	for n := range 4 {
		if err := w.Append([]byte("x"), false, nil); (n == 3) != errors.Is(err, blobfile.ErrTooMany) || n < 3 && err != nil {
			t.Errorf("part %d: %v", n+1, err)
		}
	}
	if info, err := w.Finish(); err != nil || info.Parts != 3 {
		t.Errorf("%+v, %v", info, err)
	}
}

// FuzzResume: no file makes it fail in another way than it says, and what it takes is what a
// check takes when it has ended.
func FuzzResume(f *testing.F) {
	folder, id := f.TempDir(), blobfile.NewID("e")
	w, err := blobfile.Create(folder, id, nil, most)
	if err != nil {
		f.Fatal(err)
	}
	random := rand.New(rand.NewPCG(1, 1))
	for range 3 {
		part := make([]byte, random.IntN(50))
		if err := w.Append(part, false, part[:len(part)/2]); err != nil {
			f.Fatal(err)
		}
	}
	if _, err := w.Finish(); err != nil {
		f.Fatal(err)
	}
	if err := w.Close(); err != nil {
		f.Fatal(err)
	}
	data, err := os.ReadFile(id.Path(folder))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add(data[:100])
	f.Fuzz(func(t *testing.T, data []byte) {
		folder := t.TempDir()
		made(t, folder, id, nil, false)
		if err := os.WriteFile(id.Path(folder), data, 0o600); err != nil {
			t.Fatal(err)
		}
		if r, err := blobfile.Open(folder, id, nil); err == nil {
			_, _ = io.ReadAll(io.NewSectionReader(r, 0, r.Info().Size))
			_ = r.Close()
		}
		w, err := blobfile.Resume(folder, id, nil, most)
		damage := new(blobfile.Damage)
		if errors.Is(err, os.ErrNotExist) || errors.As(err, &damage) || errors.Is(err, blobfile.ErrNoKey) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		info, err := w.Finish()
		if err != nil {
			t.Fatal(err)
		}
		if again, err := blobfile.Verify(t.Context(), id.Path(folder), id); err != nil || again != info {
			t.Errorf("%+v, %v; finished as %+v", again, err, info)
		}
	})
}

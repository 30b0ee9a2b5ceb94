package storetest

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/flowrun/flowrun/engine/store"
)

// Rot is a sealer for tests: it keeps nothing from anybody, but what it has sealed stands
// nowhere as it was, and opens for its place alone.
type Rot struct{}

// Seal seals bytes for a place.
func (Rot) Seal(place string, clear []byte) ([]byte, error) {
	sum := sha256.Sum256([]byte(place))
	return append(sum[:], flip(clear)...), nil
}

// Open opens what Seal has sealed for the place.
func (Rot) Open(place string, sealed []byte) ([]byte, error) {
	sum := sha256.Sum256([]byte(place))
	clear, ok := bytes.CutPrefix(sealed, sum[:])
	if !ok {
		return nil, errors.New("sealed for another place")
	}
	return flip(clear), nil
}

func flip(data []byte) []byte {
	flipped := bytes.Clone(data)
	for i := range flipped {
		flipped[i] ^= 0x5a
	}
	return flipped
}

// content is what large values of tests are made of.
func content(size int, seed uint64) []byte {
	data := make([]byte, size)
	source := rand.NewChaCha8([32]byte{byte(seed), byte(seed >> 8)})
	_, _ = source.Read(data)
	return data
}

// digestOf is the digest of a content.
func digestOf(data []byte) string {
	sum := sha256.Sum256(data)
	return store.BlobDigest(sum[:])
}

// upload puts a large value in parts of one size.
func upload(t testing.TB, b store.Blobs, run, name string, data []byte, part int, sealed bool) store.BlobInfo {
	t.Helper()
	for at := 0; at < len(data); at += part {
		if err := b.AppendBlob(run, name, int64(at), data[at:min(at+part, len(data))], sealed, nil); err != nil {
			t.Fatalf("part at %d: %v", at, err)
		}
	}
	if len(data) == 0 {
		if err := b.AppendBlob(run, name, 0, nil, sealed, nil); err != nil {
			t.Fatal(err)
		}
	}
	info, err := b.FinishBlob(run, name)
	if err != nil {
		t.Fatal(err)
	}
	return info
}

// download reads a large value whole.
func download(t testing.TB, b store.Blobs, run, digest string) []byte {
	t.Helper()
	reader, err := b.OpenBlob(run, digest)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	data, err := io.ReadAll(io.NewSectionReader(reader, 0, reader.Size()))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// blobsComeBackAsTheyWent in parts of all sizes, sealed or not, also by another process.
func blobsComeBackAsTheyWent(t *testing.T, b Backend) {
	dir := t.TempDir()
	s := b.Open(t, dir, Settings{})
	Create(t, s, Row(1), 1)
	infos := map[string]store.BlobInfo{}
	contents := map[string][]byte{}
	for n, c := range []struct{ size, part int }{{0, 1}, {1, 1}, {100, 7}, {1 << 20, 1 << 20}, {3<<20 + 17, 1 << 20}, {200_000, 65_536}} {
		for _, sealed := range []bool{false, true} {
			name := fmt.Sprintf("%d %v", n, sealed)
			data := content(c.size, uint64(2*n))
			if sealed {
				data = content(c.size, uint64(2*n+1))
			}
			info := upload(t, s.Blobs(Rot{}), ID(1), name, data, c.part, sealed)
			parts := (c.size + c.part - 1) / c.part
			if info.Digest != digestOf(data) || info.Size != int64(c.size) || info.Parts != parts || info.Sealed != (sealed && c.size > 0) {
				if c.size > 0 || info.Digest != digestOf(data) {
					t.Errorf("%s: %+v", name, info)
				}
			}
			infos[name], contents[name] = info, data
		}
	}
	b.shut(t, s, dir)
	s = b.open(t, dir)
	blobs := s.Blobs(Rot{})
	for name, info := range infos {
		if got := download(t, blobs, ID(1), info.Digest); !bytes.Equal(got, contents[name]) {
			t.Errorf("%s came back as %d bytes", name, len(got))
		}
		again, err := blobs.FinishBlob(ID(1), name)
		if err != nil || again.Digest != info.Digest || again.Size != info.Size {
			t.Errorf("%s finished again: %+v, %v", name, again, err)
		}
		if stage, err := blobs.StageBlob(ID(1), name); err != nil || stage.Finished == nil || stage.Size != info.Size {
			t.Errorf("%s: stage %+v, %v", name, stage, err)
		}
	}
	if _, err := s.Blobs(nil).OpenBlob(ID(1), infos["4 true"].Digest); !errors.Is(err, store.ErrBlobSealed) {
		t.Errorf("sealed parts without a key: %v", err)
	}
	if listed, err := blobs.RunBlobs(ID(1)); err != nil || len(listed) != 11 { // the empty one is the same sealed and not
		t.Errorf("%d values, %v", len(listed), err)
	}
}

// aBlobIsReadFromAnywhere: at each offset and length, and not behind its end.
func aBlobIsReadFromAnywhere(t *testing.T, b Backend) {
	s := b.fresh(t)
	Create(t, s, Row(1), 1)
	data := content(100_000, 3)
	info := upload(t, s.Blobs(Rot{}), ID(1), "u", data, 1234, true)
	reader, err := s.Blobs(Rot{}).OpenBlob(ID(1), info.Digest)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	if reader.Size() != int64(len(data)) || reader.Info().Digest != info.Digest {
		t.Errorf("size %d, %+v", reader.Size(), reader.Info())
	}
	var readers sync.WaitGroup
	for seed := range uint64(4) { // side by side
		readers.Go(func() {
			random := rand.New(rand.NewPCG(b.Seed, seed))
			for range 200 {
				at, length := random.IntN(len(data)), random.IntN(5000)
				got := make([]byte, length)
				n, err := reader.ReadAt(got, int64(at))
				want := data[at:min(at+length, len(data))]
				if !bytes.Equal(got[:n], want) || (n < length) != errors.Is(err, io.EOF) || err != nil && !errors.Is(err, io.EOF) {
					t.Errorf("%d bytes at %d: %d, %v", length, at, n, err)
				}
			}
		})
	}
	readers.Wait()
	for _, at := range []int64{int64(len(data)), int64(len(data)) + 1, 1 << 60} {
		if n, err := reader.ReadAt(make([]byte, 1), at); n != 0 || !errors.Is(err, io.EOF) {
			t.Errorf("at %d: %d, %v", at, n, err)
		}
	}
	if _, err := reader.ReadAt(make([]byte, 1), -1); err == nil || errors.Is(err, io.EOF) {
		t.Errorf("before the begin: %v", err)
	}
}

// anUploadGoesOnWhereItStood with what its writer noted, in this process and in the next.
func anUploadGoesOnWhereItStood(t *testing.T, b Backend) {
	dir := t.TempDir()
	s := b.Open(t, dir, Settings{})
	Create(t, s, Row(1), 1)
	data := content(500, 9)
	put := func(offset, end int, note []byte) error {
		return s.Blobs(Rot{}).AppendBlob(ID(1), "u", int64(offset), data[offset:end], offset == 100, note)
	}
	stage := func(size int, note string) {
		t.Helper()
		got, err := s.Blobs(Rot{}).StageBlob(ID(1), "u")
		if err != nil || got.Size != int64(size) || string(got.Note) != note || got.Finished != nil {
			t.Fatalf("stage %+v, %v; want %d and %q", got, err, size, note)
		}
	}
	stage(0, "")
	if _, err := s.Blobs(Rot{}).FinishBlob(ID(1), "u"); !errors.Is(err, store.ErrBlobUnknown) {
		t.Errorf("finished before its begin: %v", err)
	}
	for _, step := range []struct {
		from, to int
		note     []byte
		size     int
		noted    string
	}{
		{0, 100, []byte("etag 1"), 100, "etag 1"},
		{100, 200, nil, 200, "etag 1"},
		{200, 200, []byte("etag 2"), 200, "etag 2"}, // a note alone
		{200, 300, []byte{}, 300, ""},               // none any more
		{100, 250, nil, 250, ""},                    // once more from there
		{250, 300, []byte("etag 3"), 300, "etag 3"},
		{100, 200, nil, 200, "etag 3"}, // the note stays, though its part is gone
		{0, 100, nil, 100, "etag 3"},   // anew
		{100, 300, nil, 300, "etag 3"},
	} {
		if err := put(step.from, step.to, step.note); err != nil {
			t.Fatalf("%+v: %v", step, err)
		}
		stage(step.size, step.noted)
		staged := []byte{}
		parts, err := s.Blobs(Rot{}).StagedParts(ID(1), "u", int64(step.size), 1000)
		for _, part := range parts {
			if part.Offset != int64(len(staged)) || part.Sealed != (part.Offset == 100) {
				t.Errorf("staged part %d of %d bytes, sealed %v", part.Offset, len(part.Data), part.Sealed)
			}
			staged = append(staged, part.Data...)
		}
		if err != nil || !bytes.Equal(staged, data[:step.size]) {
			t.Fatalf("staged are %d bytes, %v", len(staged), err)
		}
		b.shut(t, s, dir)
		s = b.Open(t, dir, Settings{})
		stage(step.size, step.noted)
	}
	for _, offset := range []int{301, 1, 299, 1 << 40} {
		err := s.Blobs(Rot{}).AppendBlob(ID(1), "u", int64(offset), []byte("x"), false, nil)
		var refused *store.BlobOffsetError
		if !errors.As(err, &refused) || !errors.Is(err, store.ErrBlobOffset) || refused.Size != 300 {
			t.Errorf("at %d: %v", offset, err)
		}
	}
	stage(300, "etag 3")
	if err := put(300, 500, nil); err != nil {
		t.Fatal(err)
	}
	info, err := s.Blobs(Rot{}).FinishBlob(ID(1), "u")
	if err != nil || info.Digest != digestOf(data) || !info.Sealed {
		t.Errorf("finished: %+v, %v", info, err)
	}
	if err := put(400, 500, nil); !errors.Is(err, store.ErrBlobFinished) {
		t.Errorf("a part of a finished one: %v", err)
	}
	if err := put(0, 10, nil); err != nil { // anew: the finished value stays
		t.Error(err)
	}
	if got := download(t, s.Blobs(Rot{}), ID(1), info.Digest); !bytes.Equal(got, data) {
		t.Error("the finished value changed")
	}
	b.shut(t, s, dir)
}

// malformedPartsAreRefused and leave nothing behind.
func malformedPartsAreRefused(t *testing.T, b Backend) {
	s := b.fresh(t)
	Create(t, s, Row(1), 1)
	blobs := s.Blobs(nil)
	long := string(content(store.MaxUploadName+1, 1))
	for name, err := range map[string]error{
		"a part that is too large": blobs.AppendBlob(ID(1), "u", 0, make([]byte, store.MaxBlobPart+1), false, nil),
		"a note that is too long":  blobs.AppendBlob(ID(1), "u", 0, []byte("x"), false, make([]byte, store.MaxBlobNote+1)),
		"no name":                  blobs.AppendBlob(ID(1), "", 0, []byte("x"), false, nil),
		"a long name":              blobs.AppendBlob(ID(1), long, 0, []byte("x"), false, nil),
	} {
		if !errors.Is(err, store.ErrBlobPart) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := blobs.AppendBlob(ID(1), "u", -1, []byte("x"), false, nil); !errors.Is(err, store.ErrBlobOffset) {
		t.Errorf("before the begin: %v", err)
	}
	if err := blobs.AppendBlob(ID(1), "u", 0, []byte("x"), true, nil); !errors.Is(err, store.ErrBlobSealed) {
		t.Errorf("sealed without a key: %v", err)
	}
	for _, run := range []string{ID(2), "../../etc", ""} {
		if err := blobs.AppendBlob(run, "u", 0, []byte("x"), false, nil); !errors.Is(err, store.ErrRunNotFound) {
			t.Errorf("of run %q: %v", run, err)
		}
	}
	for _, digest := range []string{"", "x", "sha256:", "sha256:" + string(bytes.Repeat([]byte("A"), 64)), "../../etc/passwd", "sha256:" + string(bytes.Repeat([]byte("/"), 64))} {
		if _, err := blobs.OpenBlob(ID(1), digest); !errors.Is(err, store.ErrBlobDigest) {
			t.Errorf("digest %q: %v", digest, err)
		}
	}
	if total, err := blobs.BlobBytes(ID(1)); err != nil || total != 0 {
		t.Errorf("%d bytes are left, %v", total, err)
	}
	hostile := []string{"../../../../tmp/x", "/etc/passwd", "a/b", "\x00", "..", string(bytes.Repeat([]byte("x"), 1024))}
	for n, name := range hostile { // names are nothing but names
		upload(t, blobs, ID(1), name, content(100, uint64(n)), 10, false)
	}
}

// aBlobIsItsRunsAlone and of those that it was handed to; it goes with the last of them.
func aBlobIsItsRunsAlone(t *testing.T, b Backend) {
	dir := t.TempDir()
	s := b.Open(t, dir, Settings{})
	for n := 1; n <= 3; n++ {
		Create(t, s, Row(n), n)
	}
	blobs := s.Blobs(nil)
	data := content(50_000, 5)
	digest := upload(t, blobs, ID(1), "u", data, 10_000, false).Digest
	for _, run := range []string{ID(2), ID(9), "x"} {
		if _, err := blobs.OpenBlob(run, digest); !errors.Is(err, store.ErrBlobNotFound) && !errors.Is(err, store.ErrRunNotFound) {
			t.Errorf("run %s reads what it has no reference to: %v", run, err)
		}
		if err := blobs.ShareBlob(run, ID(3), digest); !errors.Is(err, store.ErrBlobNotFound) && !errors.Is(err, store.ErrRunNotFound) {
			t.Errorf("run %s hands on what it has no reference to: %v", run, err)
		}
	}
	if err := blobs.ShareBlob(ID(1), ID(2), digest); err != nil {
		t.Fatal(err)
	}
	if err := blobs.ShareBlob(ID(1), ID(2), digest); err != nil { // as after a crash
		t.Fatal(err)
	}
	if err := blobs.ShareBlob(ID(1), "no run", digest); !errors.Is(err, store.ErrRunNotFound) {
		t.Errorf("handed to no run: %v", err)
	}
	remove := func(n int) {
		t.Helper()
		if err := Append(s, ID(n), nil, Closed(*Row(n))); err != nil {
			t.Fatal(err)
		}
		if err := s.DeleteRun(ID(n)); err != nil {
			t.Fatal(err)
		}
	}
	remove(1)
	if got := download(t, blobs, ID(2), digest); !bytes.Equal(got, data) {
		t.Error("the value went with the run that made it")
	}
	if total, err := blobs.BlobBytes(ID(2)); err != nil || total < int64(len(data)) {
		t.Errorf("%d bytes, %v", total, err)
	}
	remove(2)
	b.shut(t, s, dir)
	s = b.open(t, dir)
	if _, err := s.Blobs(nil).OpenBlob(ID(2), digest); !errors.Is(err, store.ErrBlobNotFound) {
		t.Errorf("after its last run: %v", err)
	}
	// The same content is stored anew.
	if again := upload(t, s.Blobs(nil), ID(3), "u", data, 7000, false); again.Digest != digest {
		t.Errorf("made again: %+v", again)
	}
	if got := download(t, s.Blobs(nil), ID(3), digest); !bytes.Equal(got, data) {
		t.Error("the value made again is another one")
	}
}

// equalBlobsAreOne, and a sealed one takes the place of one that is not.
func equalBlobsAreOne(t *testing.T, b Backend) {
	s := b.fresh(t)
	Create(t, s, Row(1), 1)
	Create(t, s, Row(2), 2)
	blobs := s.Blobs(Rot{})
	data := content(30_000, 6)
	first := upload(t, blobs, ID(1), "u", data, 1000, false)
	upload(t, blobs, ID(1), "v", data, 3000, false)
	if listed, err := blobs.RunBlobs(ID(1)); err != nil || len(listed) != 1 {
		t.Errorf("%+v, %v", listed, err)
	}
	if total, err := blobs.BlobBytes(ID(1)); err != nil || total > 2*int64(len(data)) {
		t.Errorf("two equal values take %d bytes, %v", total, err)
	}
	if sealed := upload(t, blobs, ID(2), "w", data, 2000, true); sealed.Digest != first.Digest || !sealed.Sealed {
		t.Errorf("sealed: %+v", sealed)
	}
	for _, run := range []string{ID(1), ID(2)} {
		if info, err := blobs.BlobInfo(run, first.Digest); err != nil || !info.Sealed {
			t.Errorf("%s: %+v, %v", run, info, err)
		}
		if got := download(t, blobs, run, first.Digest); !bytes.Equal(got, data) {
			t.Errorf("%s reads another value", run)
		}
	}
	if clear := upload(t, blobs, ID(1), "x", data, 2000, false); !clear.Sealed {
		t.Error("one in clear took the place of the sealed one")
	}
}

// uploadsEndWithTheirCallAndRun, but for the values that were handed on.
func uploadsEndWithTheirCallAndRun(t *testing.T, b Backend) {
	s := b.fresh(t)
	Create(t, s, Row(1), 1)
	blobs := s.Blobs(nil)
	mine, other := store.UploadPrefix("fetch", "call 1"), store.UploadPrefix("fetch", "call 2")
	kept := upload(t, blobs, ID(1), mine+"kept", content(100, 1), 10, false)
	lost := upload(t, blobs, ID(1), mine+"lost", content(100, 2), 10, false)
	both := upload(t, blobs, ID(1), mine+"both", content(100, 3), 10, false)
	upload(t, blobs, ID(1), other+"both", content(100, 3), 10, false)
	for _, name := range []string{mine + "open", other + "open"} {
		if err := blobs.AppendBlob(ID(1), name, 0, []byte("text"), false, nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := blobs.DropUploads(ID(1), mine, []string{kept.Digest}); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		info  store.BlobInfo
		there bool
	}{"kept": {kept, true}, "lost": {lost, false}, "both": {both, true}} {
		if _, err := blobs.OpenBlob(ID(1), c.info.Digest); c.there != (err == nil) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, size := range map[string]int64{mine + "open": 0, other + "open": 4} {
		if stage, err := blobs.StageBlob(ID(1), name); err != nil || stage.Size != size {
			t.Errorf("%q: %+v, %v", name, stage, err)
		}
	}
	if usage, err := s.BlobUsage(); err != nil || usage.Uploads != 1 || usage.Staged < 4 {
		t.Errorf("usage %+v, %v", usage, err)
	}
	if err := Append(s, ID(1), nil, Closed(*Row(1))); err != nil {
		t.Fatal(err)
	}
	if stage, err := blobs.StageBlob(ID(1), other+"open"); err != nil || stage.Size != 0 {
		t.Errorf("after the run's end: %+v, %v", stage, err)
	}
	if _, err := blobs.OpenBlob(ID(1), kept.Digest); err != nil {
		t.Errorf("the run's value: %v", err)
	}
	if usage, err := s.BlobUsage(); err != nil || usage.Values != 2 || usage.Bytes < 200 || usage.Uploads != 0 {
		t.Errorf("usage %+v, %v", usage, err)
	}
	var use store.RunUse
	if err := s.EachRunUse(func(u store.RunUse) error { use = u; return nil }); err != nil || use.Blobs < 200 {
		t.Errorf("%+v, %v", use, err)
	}
}

// aSweepTakesWhatNobodyNeeds: references of runs that were never created.
func aSweepTakesWhatNobodyNeeds(t *testing.T, b Backend) {
	now := Begin().Add(10 * time.Second)
	dir := t.TempDir()
	s := b.Open(t, dir, Settings{Hooks: store.Hooks{Now: func() time.Time { return now }}})
	Create(t, s, Row(1), 1)
	digest := upload(t, s.Blobs(nil), ID(1), "u", content(1000, 1), 100, false).Digest
	if err := s.Blobs(nil).ShareBlob(ID(1), ID(2), digest); err != nil {
		t.Fatal(err)
	}
	sweep := func(refs int) {
		t.Helper()
		if swept, err := s.SweepBlobs(t.Context()); err != nil || swept.Refs != refs {
			t.Errorf("swept %+v, %v; want %d", swept, err, refs)
		}
	}
	sweep(0) // it may be created in this moment
	now = now.Add(2 * time.Hour)
	sweep(1)
	sweep(0)
	if _, err := s.Blobs(nil).OpenBlob(ID(1), digest); err != nil {
		t.Error(err)
	}
	b.shut(t, s, dir)
}

// manyWritersOfOneUploadLeaveOneValue: parts never mix.
func manyWritersOfOneUploadLeaveOneValue(t *testing.T, b Backend) {
	s := b.fresh(t)
	Create(t, s, Row(1), 1)
	data := content(64_000, 8)
	var writers sync.WaitGroup
	for range 4 {
		writers.Go(func() {
			for at := 0; at < len(data); at += 1000 {
				err := s.Blobs(nil).AppendBlob(ID(1), "u", int64(at), data[at:at+1000], false, nil)
				if err != nil && !errors.Is(err, store.ErrBlobOffset) {
					t.Error(err)
					return
				}
			}
		})
	}
	writers.Wait()
	// Whatever they did to each other, what stands is a begin of the content.
	stage, err := s.Blobs(nil).StageBlob(ID(1), "u")
	if err != nil || stage.Size%1000 != 0 || stage.Size == 0 {
		t.Fatalf("stage %+v, %v", stage, err)
	}
	info, err := s.Blobs(nil).FinishBlob(ID(1), "u")
	if err != nil || info.Digest != digestOf(data[:stage.Size]) {
		t.Errorf("%+v, %v", info, err)
	}
}

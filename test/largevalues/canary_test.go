package largevalues

import (
	"bytes"
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/flowrun/flowrun/engine/storetest"
)

// standsIn lists the files below a folder that hold a text.
func standsIn(t *testing.T, folder, text string) (files []string) {
	t.Helper()
	err := filepath.WalkDir(folder, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(name)
		if bytes.Contains(data, []byte(text)) {
			files = append(files, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// pieces are deeds that send a text in parts of one size.
func pieces(text string, size int, last bool) (deeds []deed) {
	for at := 0; at < len(text); at += size {
		end := min(at+size, len(text))
		deeds = append(deeds, deed{Put: "u", Offset: uint64(at), Data: text[at:end], Last: last && end == len(text)})
	}
	return deeds
}

// TestAKnownSecretNeverStandsInClear on the disk, wherever the borders of parts fall: not
// the whole, and not a half of it. What it stands in comes back as it was.
func TestAKnownSecretNeverStandsInClear(t *testing.T) {
	text := strings.Repeat("before ", 60) + canary + strings.Repeat(" behind", 60)
	at := strings.Index(text, canary)
	for name, c := range map[string]struct {
		size   int
		resume int // another process goes on there
	}{
		"in one part":             {5000, 0},
		"the border is inside it": {at + 7, 0},
		"several borders are":     {at/100 + 3, 0},
		"parts of 3 bytes":        {3, 0},
		"parts of 1 byte":         {1, 0},
		"another process goes on": {at + 7, at + 7},
		"and with small parts":    {7, (at + 7) / 7 * 7},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			w := newWorld(t, dir, nil)
			deeds := pieces(text, c.size, true)
			if c.resume > 0 {
				first := c.resume / c.size
				w.do(1, "a", rawInput{Deeds: deeds[:first], Fail: true})
				w.close()
				w = newWorld(t, dir, nil)
				deeds = append([]deed{{Put: "u"}}, deeds[first:]...)
			}
			made := w.ok(1, "a", rawInput{Give: give, Deeds: deeds})
			w.says(1, "b", rawInput{From: made.Blob, Deeds: []deed{{Get: digestOf(t, made.Blob)}}}, "got 855 of 855 "+sumOf(text))
			w.close()
			for _, part := range []string{canary, canary[:8], canary[len(canary)-8:]} {
				if files := standsIn(t, dir, part); len(files) > 0 {
					t.Errorf("%q stands in %v", part, files)
				}
			}
		})
	}
}

// TestWhatIsNoSecretStandsInClear: the control of the search.
func TestWhatIsNoSecretStandsInClear(t *testing.T) {
	dir := t.TempDir()
	w := newWorld(t, dir, nil)
	w.ok(1, "a", rawInput{Give: give, Deeds: pieces(strings.Repeat("some text, ", 100), 200, true)})
	w.close()
	if files := standsIn(t, dir, "some text, some text"); len(files) != 1 {
		t.Errorf("it stands in %v", files)
	}
}

// TestWhatIsCalledSensitiveIsSealed though nobody knows it, and its note always is. A
// rotated key opens it; a store without its key does not.
func TestWhatIsCalledSensitiveIsSealed(t *testing.T) {
	dir := t.TempDir()
	w := newWorld(t, dir, nil)
	const text = "the numbers of an account: 1234567890"
	made := w.ok(1, "a", rawInput{Give: give, Deeds: []deed{{Put: "u", Data: text, Note: "a note to myself", Secret: true, Last: true}}})
	if _, err := w.services.RotateKey(context.Background(), nil); err != nil {
		t.Fatal(err)
	}
	later := w.ok(1, "c", rawInput{Give: give, Deeds: []deed{{Put: "u", Data: text + ".", Secret: true, Last: true}}})
	w.close()
	for _, part := range []string{text[:20], "a note to myself"} {
		if files := standsIn(t, dir, part); len(files) > 0 {
			t.Errorf("%q stands in %v", part, files)
		}
	}
	w = newWorld(t, dir, nil)
	w.says(1, "b", rawInput{From: made.Blob, Deeds: []deed{{Get: digestOf(t, made.Blob)}}}, "got 37 of 37 "+sumOf(text))
	w.says(1, "d", rawInput{From: later.Blob, Deeds: []deed{{Get: digestOf(t, later.Blob)}}}, "got 38 of 38 "+sumOf(text+"."))
	blobs, err := w.services.Blobs()
	if err != nil {
		t.Fatal(err)
	}
	if info, err := blobs.BlobInfo(storetest.ID(1), digestOf(t, made.Blob)); err != nil || !info.Sealed {
		t.Errorf("%+v, %v", info, err)
	}
	w.close()
}

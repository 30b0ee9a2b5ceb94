package secret_test

import (
	"bytes"
	"crypto/rand"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/flowrun/flowrun/engine/secret"
)

func newOpaque(t *testing.T, kv *memory) *secret.Opaque {
	t.Helper()
	return secret.NewOpaque(sealed(t, kv), func(key []byte) error { _, err := io.ReadFull(rand.Reader, key); return err })
}

func sealOpaque(t *testing.T, o *secret.Opaque, place, clear string) []byte {
	t.Helper()
	sealed, err := o.Seal(place, []byte(clear))
	if err != nil {
		t.Fatal(err)
	}
	return sealed
}

// TestIssue13_01_OpaqueBytes are sealed for their place, alike where they are alike.
func TestIssue13_01_OpaqueBytes(t *testing.T) {
	kv := newMemory()
	o := newOpaque(t, kv)
	const text = "a checkpoint with the key kilo-3f9a41"
	stored := sealOpaque(t, o, "evil\x00main\x00checkpoint", text)
	if bytes.Contains(stored, []byte("kilo")) || !bytes.Equal(stored, sealOpaque(t, o, "evil\x00main\x00checkpoint", text)) {
		t.Errorf("sealed = %q", stored)
	}
	if bytes.Equal(stored, sealOpaque(t, o, "evil\x00other\x00checkpoint", text)) || bytes.Equal(stored, sealOpaque(t, o, "evil\x00main\x00checkpoint", text+".")) {
		t.Error("other bytes, or those of another place, are sealed alike")
	}
	for name, c := range map[string]struct {
		place  string
		stored []byte
		want   string
	}{
		"as it was":     {"evil\x00main\x00checkpoint", stored, text},
		"nothing":       {"evil\x00main\x00checkpoint", nil, ""},
		"never sealed":  {"evil\x00main\x00checkpoint", []byte("old"), "old"},
		"another place": {"evil\x00main\x00watermark", stored, "!"},
		"changed":       {"evil\x00main\x00checkpoint", append(bytes.Clone(stored[:len(stored)-1]), stored[len(stored)-1]^1), "!"},
		"another key":   {"evil\x00main\x00checkpoint", slices.Concat([]byte("\x00frO\x01\x00\x00\x00\x09"), stored[9:]), "!"},
	} {
		clear, err := o.Open(c.place, c.stored)
		if c.want == "!" {
			if !errors.Is(err, secret.ErrUnseal) {
				t.Errorf("%s: %q, %v", name, clear, err)
			}
			continue
		}
		if err != nil || string(clear) != c.want {
			t.Errorf("%s: %q, %v", name, clear, err)
		}
	}
	size, digest := secret.Shape(stored)
	if size != len(text) || len(digest) != 16 {
		t.Errorf("shape = %d %q", size, digest)
	}
	for _, other := range [][]byte{sealOpaque(t, o, "evil\x00main\x00checkpoint", text+"."), sealOpaque(t, o, "evil\x00main\x00watermark", text)} {
		if _, again := secret.Shape(other); again == digest {
			t.Error("two texts share a nonce: who has both reads both")
		}
	}
	if size, digest := secret.Shape([]byte("old")); size != 3 || digest != "" {
		t.Errorf("shape of what was never sealed = %d %q", size, digest)
	}
}

// TestIssue13_01_OpaqueBytesOutliveRotations: another process opens them, after the
// master key and the data key were exchanged, too.
func TestIssue13_01_OpaqueBytesOutliveRotations(t *testing.T) {
	kv := newMemory()
	first := newOpaque(t, kv)
	if err := first.Renew(); err != nil || len(kv.rows) > 0 {
		t.Errorf("a key was made where nothing is sealed: %v, %v", kv.rows, err)
	}
	old := sealOpaque(t, first, "p", "text")
	digest, err := first.Digest("key of a row")
	if err != nil {
		t.Fatal(err)
	}
	if err := first.Renew(); err != nil {
		t.Fatal(err)
	}
	renewed := sealOpaque(t, first, "p", "text")
	if bytes.Equal(old, renewed) {
		t.Error("the new data key seals nothing")
	}
	second := newOpaque(t, kv)
	for _, stored := range [][]byte{old, renewed} {
		if clear, err := second.Open("p", stored); err != nil || string(clear) != "text" {
			t.Errorf("opened %q, %v", clear, err)
		}
	}
	if !bytes.Equal(sealOpaque(t, second, "p", "text"), renewed) {
		t.Error("another process seals with another key")
	}
	if again, err := second.Digest("key of a row"); err != nil || again != digest {
		t.Errorf("the digest became %q, %v", again, err)
	}
	for key, row := range kv.rows {
		if !strings.HasPrefix(key, "secrets.opaque|") || len(row.value) <= secret.KeySize {
			t.Errorf("row %q", key)
		}
	}
}

package packed

import (
	"bytes"
	"compress/gzip"
	"hash/crc32"
	"io"
	"testing"

	"pgregory.net/rapid"
)

// TestTheSumOfAStreamIsThatOfItsPieces: whatever they are, and however long.
func TestTheSumOfAStreamIsThatOfItsPieces(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var whole []byte
		var out bytes.Buffer
		stream := NewStream(&out, true)
		for range rapid.IntRange(1, 6).Draw(t, "pieces") {
			text := rapid.SliceOfN(rapid.Byte(), 0, 300).Draw(t, "piece")
			if times := rapid.SampledFrom([]int{1, 1, 1, 700}).Draw(t, "times"); times > 1 { // a long one too
				text = bytes.Repeat(text, times)
			}
			whole = append(whole, text...)
			if err := stream.Write(NewPiece(text)); err != nil {
				t.Fatal(err)
			}
			if stream.sum != crc32.ChecksumIEEE(whole) {
				t.Fatalf("after %d bytes the sum is %08x", len(whole), stream.sum)
			}
		}
		if err := stream.Close(); err != nil {
			t.Fatal(err)
		}
		unpacks, err := gzip.NewReader(&out)
		if err != nil {
			t.Fatal(err)
		}
		if text, err := io.ReadAll(unpacks); err != nil || !bytes.Equal(text, whole) {
			t.Fatalf("%d bytes of %d: %v", len(text), len(whole), err)
		}
	})
}

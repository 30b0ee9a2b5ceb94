package python

import (
	"bytes"
	"compress/zlib"
	"encoding/base64"
	"io"
	"os"
	"regexp"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"
)

// TestTheSDKHoldsTheDescriptorOfToday: the messages of the SDK are those of the
// committed descriptor. UPDATE=1 takes it over.
func TestTheSDKHoldsTheDescriptorOfToday(t *testing.T) {
	descriptor, err := os.ReadFile("../../proto/flowrun/plugin/v1/plugin.binpb")
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile(sdkFile)
	if err != nil {
		t.Fatal(err)
	}
	held := regexp.MustCompile(`(?s)_DESCRIPTOR = b"""\n(.*?)"""`).FindSubmatchIndex(source)
	if held == nil {
		t.Fatal("the SDK has no _DESCRIPTOR")
	}
	if bytes.Equal(unpacked(t, source[held[2]:held[3]]), bare(t, descriptor)) {
		return
	}
	if os.Getenv("UPDATE") == "" {
		t.Fatal("the descriptor in sdk/python/flowrun.py is not proto/flowrun/plugin/v1/plugin.binpb: UPDATE=1 go test ./test/python -run Descriptor")
	}
	updated := append(append(append([]byte{}, source[:held[2]]...), packed(t, bare(t, descriptor))...), source[held[3]:]...)
	if err := os.WriteFile(sdkFile, updated, 0o644); err != nil {
		t.Fatal(err)
	}
}

// bare is the descriptor without its comments: the messages are made without them.
func bare(t *testing.T, descriptor []byte) []byte {
	t.Helper()
	var files descriptorpb.FileDescriptorSet
	if err := proto.Unmarshal(descriptor, &files); err != nil {
		t.Fatal(err)
	}
	for _, file := range files.GetFile() {
		file.SourceCodeInfo = nil
	}
	bytes, err := proto.MarshalOptions{Deterministic: true}.Marshal(&files)
	if err != nil {
		t.Fatal(err)
	}
	return bytes
}

func packed(t *testing.T, plain []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := zlib.NewWriterLevel(&out, zlib.BestCompression)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(plain); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	text := base64.StdEncoding.EncodeToString(out.Bytes())
	var lines strings.Builder
	for len(text) > 0 {
		n := min(116, len(text))
		lines.WriteString(text[:n] + "\n")
		text = text[n:]
	}
	return []byte(lines.String())
}

// unpacked is nil for what can't be read.
func unpacked(t *testing.T, text []byte) []byte {
	t.Helper()
	raw, err := base64.StdEncoding.DecodeString(strings.ReplaceAll(string(text), "\n", ""))
	if err != nil {
		return nil
	}
	r, err := zlib.NewReader(bytes.NewReader(raw))
	if err != nil {
		return nil
	}
	plain, err := io.ReadAll(r)
	if err != nil {
		return nil
	}
	return plain
}

package sdk_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/flowrun/flowrun/sdk"
	"github.com/flowrun/flowrun/sdk/sdktest"
)

type copyInput struct {
	From  *sdk.Blob `json:"from,omitempty"`
	Note  string    `json:"note,omitempty"`
	Stop  int64     `json:"stop,omitempty"` // fails after so many bytes
	Anew  bool      `json:"anew,omitempty"`
	Quiet bool      `json:"quiet,omitempty"` // finishes nothing
}

type copyOutput struct {
	Blob  sdk.Blob `json:"blob"`
	Began int64    `json:"began"`
	Noted string   `json:"noted"`
	Again bool     `json:"again"`
}

// copier copies a large value to another one.
func copier() *sdk.Plugin {
	return sdk.New("copier", "1.0.0", "Copies", sdk.Read("copy", "Copy a large value",
		func(c *sdk.Call[struct{}], in copyInput) (out copyOutput, err error) {
			if !c.HasBlobs() {
				_, err := c.NewBlob(sdk.BlobOptions{})
				return out, err
			}
			w, err := c.NewBlob(sdk.BlobOptions{Name: "copy.bin", MediaType: "application/octet-stream"})
			if err != nil {
				return out, err
			}
			if out.Blob, out.Again = w.Finished(); out.Again && !in.Anew {
				return out, nil
			}
			out.Began, out.Noted = w.Size(), string(w.Note())
			if in.Anew {
				w.Restart()
			}
			if in.Note != "" {
				w.SetNote([]byte(in.Note))
			}
			r, err := c.OpenBlob(*in.From)
			if err != nil {
				return out, err
			}
			defer r.Close()
			if _, err := r.Seek(w.Size(), io.SeekStart); err != nil {
				return out, err
			}
			var source io.Reader = r
			if in.Stop > 0 {
				source = io.MultiReader(io.LimitReader(r, in.Stop-w.Size()), iotest.ErrReader(errors.New("the line broke")))
			}
			if _, err := io.Copy(w, source); err != nil {
				return out, &sdk.Error{Code: sdk.CodeUnavailable, Message: err.Error()}
			}
			out.Blob, err = w.Finish()
			return out, err
		}))
}

func random(size int) []byte {
	data := make([]byte, size)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(data)
	return data
}

// TestALargeValueGoesThroughInParts: read and written, with what the reference says.
func TestALargeValueGoesThroughInParts(t *testing.T) {
	for _, size := range []int{0, 1, sdk.BlobPart, 3*sdk.BlobPart + 17} {
		p := sdktest.Open(t, copier(), nil)
		data := random(size)
		from := p.Host().PutBlob(data, "text/plain", "a.txt")
		result := p.Call("copy", copyInput{From: &from})
		var out copyOutput
		result.Decode(t, &out)
		if !bytes.Equal(p.Host().Blob(out.Blob), data) || out.Blob.Size != int64(size) || out.Blob.Name != "copy.bin" || out.Blob.MediaType != "application/octet-stream" || out.Blob.Digest != from.Digest {
			t.Errorf("%d bytes became %+v", size, out.Blob)
		}
	}
}

// TestAnUploadGoesOnAfterAFailure where the attempt before stood, with its note; not for
// another call; anew where the plugin says so.
func TestAnUploadGoesOnAfterAFailure(t *testing.T) {
	p := sdktest.Open(t, copier(), nil)
	data := random(2*sdk.BlobPart + 100)
	from := p.Host().PutBlob(data, "", "")
	const broke = sdk.BlobPart + 50
	if result := p.Call("copy", copyInput{From: &from, Note: "etag 1", Stop: broke}); result.Err == nil || !strings.Contains(result.Err.Message, "the line broke") {
		t.Fatalf("%+v", result)
	}
	if content, note := p.Host().Upload("key", ""); !bytes.Equal(content, data[:broke]) || string(note) != "etag 1" {
		t.Errorf("%d bytes and %q are kept", len(content), note)
	}
	for _, c := range []struct {
		options []sdktest.Option
		anew    bool
		want    copyOutput
	}{
		{[]sdktest.Option{sdktest.Key("another")}, false, copyOutput{}},
		{nil, false, copyOutput{Began: broke, Noted: "etag 1"}},
		{nil, false, copyOutput{Again: true}},
		{nil, true, copyOutput{Began: int64(len(data)), Noted: "etag 1", Again: true}},
	} {
		var out copyOutput
		p.Call("copy", copyInput{From: &from, Anew: c.anew}, c.options...).Decode(t, &out)
		c.want.Blob = sdk.Blob{Digest: from.Digest, Size: from.Size, Name: "copy.bin", MediaType: "application/octet-stream"}
		if out != c.want {
			t.Errorf("got %+v, want %+v", out, c.want)
		}
	}
}

// TestAHostWithoutLargeValuesIsToldApart before anything is sent.
func TestAHostWithoutLargeValuesIsToldApart(t *testing.T) {
	p := sdktest.Open(t, copier(), nil)
	result := p.Call("copy", copyInput{}, sdktest.WithoutBlobs())
	if result.Err == nil || result.Err.Code != sdk.CodeUnsupported || result.Err.Applied != sdk.NotApplied {
		t.Errorf("%+v", result.Err)
	}
}

// TestAFullDiskFailsTheCall and what was sent stays.
func TestAFullDiskFailsTheCall(t *testing.T) {
	p := sdktest.Open(t, copier(), nil)
	data := random(3 * sdk.BlobPart)
	from := p.Host().PutBlob(data, "", "")
	p.Host().FailBlobs(2 * sdk.BlobPart)
	if result := p.Call("copy", copyInput{From: &from}); result.Err == nil || !strings.Contains(result.Err.Message, "the disk is full") {
		t.Errorf("%+v", result.Err)
	}
	p.Host().FailBlobs(0)
	var out copyOutput
	p.Call("copy", copyInput{From: &from}).Decode(t, &out)
	if out.Began != 2*sdk.BlobPart || out.Blob.Digest != from.Digest {
		t.Errorf("%+v", out)
	}
}

// TestAReferenceIsCheckedAsAnInput: something else is refused with its place.
func TestAReferenceIsCheckedAsAnInput(t *testing.T) {
	p := sdktest.Open(t, copier(), nil)
	for _, input := range []string{`{"from":"x"}`, `{"from":{}}`, `{"from":{"digest":"md5:1","size":1}}`, `{"from":{"digest":"sha256:00"}}`} {
		result := p.Call("copy", json.RawMessage(input))
		if result.Err == nil || result.Err.Code != sdk.CodeInvalid || result.Err.Pointer != "/from" {
			t.Errorf("%s: %+v", input, result.Err)
		}
	}
	schema := string(p.Describe().Actions[0].Input)
	if !strings.Contains(schema, `"from":{"type":["object","null"],"x-flowrun-blob":true}`) {
		t.Error(schema)
	}
}

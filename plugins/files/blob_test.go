package files_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/flowrun/flowrun/sdk"
	"github.com/flowrun/flowrun/sdk/sdktest"
)

type readBlob struct {
	Found  bool      `json:"found"`
	Size   *int64    `json:"size"`
	SHA256 *string   `json:"sha256"`
	Blob   *sdk.Blob `json:"blob"`
}

func TestIssue16_3_AFileIsALargeValue(t *testing.T) {
	b := open(t, nil)
	content := strings.Repeat("0123456789abcdef", 5<<16) // 5 MiB, more than max_bytes
	b.put("in/export.csv", content)
	var out readBlob
	b.Call("read", map[string]any{"path": "in/export.csv", "format": "blob"}).Decode(t, &out)
	sum := sha256.Sum256([]byte(content))
	if !out.Found || *out.Size != int64(len(content)) || *out.SHA256 != hex.EncodeToString(sum[:]) || out.Blob.Name != "export.csv" || string(b.Host().Blob(*out.Blob)) != content {
		t.Errorf("%+v", out)
	}
	var none readBlob
	b.Call("read", map[string]any{"path": "in/none", "format": "blob", "missing_ok": true}, sdktest.Key("none")).Decode(t, &none)
	if none.Found || none.Blob != nil || none.Size != nil {
		t.Errorf("%+v", none)
	}

	// The same call again, as after an answer that was lost: the file as it is by now.
	b.put("in/export.csv", "changed")
	if err := os.Chtimes(filepath.Join(b.root, "in/export.csv"), time.Now(), time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	var again readBlob
	b.Call("read", map[string]any{"path": "in/export.csv", "format": "blob"}).Decode(t, &again)
	if string(b.Host().Blob(*again.Blob)) != "changed" {
		t.Errorf("%+v", again.Blob)
	}
}

func TestIssue16_3_AReadingGoesOnAfterAFailureOfTheHost(t *testing.T) {
	b := open(t, nil)
	content := bytes.Repeat([]byte("0123456789abcdef"), 3<<16)
	b.put("a", string(content))
	b.Host().FailBlobs(2 << 20)
	if result := b.Call("read", map[string]any{"path": "a", "format": "blob"}); result.Err == nil || result.Err.Code != sdk.CodeUnavailable {
		t.Fatalf("%+v", result.Err)
	}
	kept, _ := b.Host().Upload("key", "")
	b.Host().FailBlobs(0)
	var out readBlob
	b.Call("read", map[string]any{"path": "a", "format": "blob"}).Decode(t, &out)
	if len(kept) == 0 || !bytes.Equal(b.Host().Blob(*out.Blob), content) {
		t.Errorf("%d bytes were kept, then %+v", len(kept), out.Blob)
	}
}

func TestIssue16_3_ALargeValueIsWritten(t *testing.T) {
	var fail string
	b := open(t, func(step string) error {
		if step == fail {
			return errors.New("a test says so")
		}
		return nil
	})
	content := strings.Repeat("0123456789abcdef", 5<<16)
	blob := b.Host().PutBlob([]byte(content), "text/csv", "x.csv")
	input := map[string]any{"path": "out/x.csv", "blob": blob}
	if out := b.gives("write", input); out["changed"] != true || out["size"] != json.Number("5242880") && out["size"] != 5242880.0 || b.held("out/x.csv") != content {
		t.Errorf("%v, %d bytes", out, len(b.held("out/x.csv")))
	}
	if out := b.gives("write", input); out["changed"] != false {
		t.Errorf("a second time: %v", out)
	}
	b.put("out/x.csv", "before")
	for _, fail = range []string{"write", "flush", "rename"} {
		if result := b.Call("write", input); result.Err == nil || b.held("out/x.csv") != "before" || len(b.names("out")) != 1 {
			t.Errorf("a failure at %s: %+v, %v", fail, result.Err, b.names("out"))
		}
	}
	fail = ""
	other := sdk.Blob{Digest: "sha256:" + strings.Repeat("0", 64), Size: 5}
	if result := b.Call("write", map[string]any{"path": "out/x.csv", "blob": other}); result.Err == nil || b.held("out/x.csv") != "before" || len(b.names("out")) != 1 {
		t.Errorf("one that the call was not given: %+v", result.Err)
	}
}

func TestIssue16_3_WhatBelongsToALargeValueIsChecked(t *testing.T) {
	b := open(t, nil)
	blob := b.Host().PutBlob([]byte("x"), "", "")
	for want, input := range map[string]map[string]any{
		"can't stand beside content":     {"path": "a", "blob": blob, "content": "x"},
		"`content` or `blob` is needed":  {"path": "a"},
		"a large value is written as it": {"path": "a", "blob": blob, "format": "json"},
	} {
		problems := b.Validate("write", input)
		if text := string(sdk.JSON(problems)); !strings.Contains(text, want) {
			t.Errorf("%v: %s", input, text)
		}
	}
	_, narrowed := b.ValidateNarrow("read", map[string]any{"path": "a", "format": "blob"})
	if !strings.Contains(string(narrowed), `"blob":{"type":"object","x-flowrun-blob":true}`) {
		t.Errorf("%s", narrowed)
	}
}

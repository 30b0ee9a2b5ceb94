package testrun

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"path"
	"strings"

	"github.com/flowrun/flowrun/engine/content"
	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/spec"
)

// maxBlobFile bounds a file that stands for a large value in a test, in bytes.
const maxBlobFile = 64 << 20

// blobs are the contents of the large values that a test file speaks of, by digest. It
// is filled while the file is read, and not changed afterwards.
type blobs struct {
	folder   string // of the test file
	read     func(name string) ([]byte, error)
	contents map[string]string
}

func newBlobs(host Host, file string) *blobs {
	return &blobs{folder: path.Dir(file), read: host.File, contents: map[string]string{}}
}

// add keeps a content, and returns the reference to it.
func (b *blobs) add(text, mediaType, name string) content.Reference {
	sum := sha256.Sum256([]byte(text))
	ref := content.Reference{Digest: "sha256:" + hex.EncodeToString(sum[:]), Size: int64(len(text)), MediaType: mediaType, Name: name}
	b.contents[ref.Digest] = text
	return ref
}

// blob reads what stands for a large value: a text, or a file of the project. In a
// recording it is the reference itself, whose content is not there.
func (c converter) blob(node *spec.Node) json.RawMessage {
	if node.Get("digest") != nil {
		return node.JSON()
	}
	var text, file, mediaType, name string
	before := len(c.r.problems)
	c.r.fields(node, "a large value", c.r.textField("text", &text), c.r.textField("file", &file), c.r.textField("media_type", &mediaType), c.r.textField("name", &name))
	switch isText, isFile := node.Get("text") != nil, node.Get("file") != nil; {
	case len(c.r.problems) > before:
		return nil
	case isText == isFile:
		c.wrong(node.FirstKey(), "a large value is given by `text` or by `file`", diag.Say("such as {text: \"id,name\\n1,a\\n\", media_type: text/csv}"))
		return nil
	case isFile:
		read, ok := c.blobFile(node.Get("file"), file)
		if !ok {
			return nil
		}
		if text = read; name == "" {
			name = path.Base(file)
		}
	}
	raw, err := json.Marshal(c.blobs.add(text, mediaType, name))
	if err != nil {
		return nil // texts and a number
	}
	return raw
}

func (c converter) blobFile(node *spec.Node, file string) (string, bool) {
	if path.IsAbs(file) || file == ".." || strings.HasPrefix(path.Clean(file), "../") {
		c.wrong(node.Pos, "the file of a large value lies in the folder of the test or below", diag.Say("such as export.csv"))
		return "", false
	}
	raw, err := c.blobs.read(path.Join(c.blobs.folder, file))
	switch {
	case err != nil:
		c.wrong(node.Pos, "the file `"+file+"` can't be read: "+err.Error(), diag.Say("the path is read as seen from the test file's folder"))
		return "", false
	case len(raw) > maxBlobFile:
		c.wrong(node.Pos, "the file `"+file+"` is too large for a test", diag.Say("64 MiB are the most"))
		return "", false
	}
	return string(raw), true
}

// readBlob is the end of a core.read for which a test has no answer: it is done for real,
// on the content that the test gives.
func (d *driver) readBlob(input json.RawMessage, paged bool, cursor string) *answer {
	asked, err := content.ParseInput(input)
	if err != nil {
		return &answer{answer: runs.Answer{Failed: runs.Failure(plan.KindInvalid, runs.NotApplied, "read the input: %v", err)}}
	}
	text, ok := d.test.blobs.contents[asked.Blob.Digest]
	if !ok {
		return &answer{answer: runs.Answer{Failed: runs.Failure(plan.KindInvalid, runs.NotApplied,
			"the test has no content for the large value %s: answer this step, or give the value as {text: ..} or {file: ..}", asked.Blob.Digest)}}
	}
	page, err := asked.Answer(strings.NewReader(text), paged, cursor)
	if err != nil {
		return &answer{answer: runs.Answer{Failed: content.Failure(err)}}
	}
	return &answer{answer: runs.Answer{Completed: &runs.Completed{Output: page.Output, NextCursor: page.Next}}}
}

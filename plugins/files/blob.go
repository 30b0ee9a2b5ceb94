package files

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"mime"
	"path"
	"strings"
	"time"

	"github.com/flowrun/flowrun/plugins/content"
	"github.com/flowrun/flowrun/sdk"
)

// formatBlob is the format of a file that is a large value.
const formatBlob = content.Format("blob")

// digestPrefix begins the digests of large values; what follows is what sha256 says.
const digestPrefix = "sha256:"

// fieldOf is the name of the output's field that has what was read.
func fieldOf(format content.Format) string {
	if format == formatBlob {
		return "blob"
	}
	return format.Field()
}

// readBlob reads a file of any size into a large value, and goes on where an attempt
// before stood as long as the file is the same.
func (f *folder) readBlob(c *call, name string) (sdk.Blob, fs.FileInfo, error) {
	file, info, err := f.regular(name)
	if err != nil {
		return sdk.Blob{}, nil, err
	}
	defer closed(file)
	mediaType, _, _ := mime.ParseMediaType(mime.TypeByExtension(path.Ext(name))) // "" = it is not known
	w, err := c.NewBlob(sdk.BlobOptions{Name: path.Base(name), MediaType: mediaType})
	if err != nil {
		return sdk.Blob{}, nil, err
	}
	note := fmt.Sprintf("%d %d", info.Size(), info.ModTime().UnixNano())
	if string(w.Note()) != note || w.Size() > info.Size() {
		w.Restart()
		w.SetNote([]byte(note))
	}
	if blob, done := w.Finished(); done {
		return blob, info, nil
	}
	if _, err := file.Seek(w.Size(), io.SeekStart); err != nil {
		return sdk.Blob{}, nil, f.fail("read", name, err)
	}
	if _, err := w.ReadFrom(file); err != nil {
		if failure := new(sdk.Error); errors.As(err, &failure) {
			return sdk.Blob{}, nil, err // of the host
		}
		return sdk.Blob{}, nil, f.fail("read", name, err)
	}
	after, err := file.Stat()
	if err == nil && (after.Size() != w.Size() || !after.ModTime().Equal(info.ModTime())) {
		return sdk.Blob{}, nil, sdk.Refused(sdk.CodeUnavailable, "%s changed while it was read", sdk.Shown(path.Join(f.name, name), 300)).WithReason("changed")
	}
	blob, err := w.Finish()
	return blob, info, err
}

// blobMembers are the fields of an output with a large value.
func blobMembers(blob sdk.Blob, info fs.FileInfo) sdk.Members {
	return sdk.Members{
		{Name: "size", Value: sdk.JSON(blob.Size)}, {Name: "modified", Value: sdk.JSON(info.ModTime().UTC().Format(time.RFC3339Nano))},
		{Name: "sha256", Value: sdk.Text(strings.TrimPrefix(blob.Digest, digestPrefix))}, {Name: "blob", Value: sdk.JSON(blob)},
	}
}

// body is what a file is filled with: its size, its sha256 in hex, and how it is written.
type body struct {
	size   int64
	sha256 string
	write  func(io.Writer) error
}

func bodyOf(raw []byte) body {
	return body{size: int64(len(raw)), sha256: digest(raw), write: func(w io.Writer) error {
		_, err := w.Write(raw)
		return err
	}}
}

// errContent says that a large value was not read as it is.
var errContent = errors.New("the large value could not be read whole")

// blobBody is a large value, which is read as it is written and held against its digest.
func blobBody(c *call, blob sdk.Blob) body {
	b := body{size: blob.Size, sha256: strings.TrimPrefix(blob.Digest, digestPrefix)}
	b.write = func(w io.Writer) error {
		reader, err := c.OpenBlob(blob)
		if err != nil {
			return err
		}
		defer func() { _ = reader.Close() }() // it was read
		sum, err := digestOf(io.TeeReader(reader, w))
		if err == nil && sum != b.sha256 {
			err = errContent
		}
		return err
	}
	return b
}

// body is what a write puts into the file.
func (in WriteInput) body(c *call) (body, error) {
	if in.Blob != nil {
		return blobBody(c, *in.Blob), nil
	}
	raw, err := bytesOf(in.Content, in.options(), c.Config.MaxBytes)
	if err != nil {
		return body{}, err
	}
	return bodyOf(raw), nil
}

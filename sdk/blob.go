package sdk

import (
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/flowrun/flowrun/sdk/proto/handshake"
	pluginv1 "github.com/flowrun/flowrun/sdk/proto/pluginv1"
)

// BlobPart is how many bytes of a large value are sent, or read, at a time: half of what a
// message may have, since host and plugin hold a part several times on its way.
const BlobPart = handshake.MaxBlobPart / 2

// Blob refers to a large value, which the host keeps: a download, an export, a dump. As a
// field of an input it is one that another step gave, as a field of an output one that this
// call has finished or was given. What it holds is read and written by Call.OpenBlob and
// Call.NewBlob, in parts: neither host nor plugin ever has it in memory.
type Blob struct {
	Digest    string `json:"digest"` // "sha256:" and the SHA-256 of the content in hex
	Size      int64  `json:"size"`   // bytes
	MediaType string `json:"media_type"`
	Name      string `json:"name"` // of a file, for people
}

// BlobOptions say what a large value is.
type BlobOptions struct {
	Upload    string // names it within the call, the same at each attempt; "" = the call has one
	Name      string // of a file, for people; "" = none
	MediaType string // "" = not known
	Sensitive bool   // it is a secret: sealed at rest. One with a known secret in it is sealed without that
}

// HasBlobs reports whether the call may read and write large values. A host from before
// has none, and a call outside of a run keeps none.
func (c *Call[C]) HasBlobs() bool { return c.core.blobs }

// NewBlob begins a large value, or goes on with one: an attempt before this one, perhaps
// in another process, may have sent a part of it already. BlobWriter.Size says how much.
func (c *Call[C]) NewBlob(options BlobOptions) (*BlobWriter, error) {
	return c.core.newBlob(options)
}

// OpenBlob reads a large value that the call was given, or has finished. It is read in
// parts when it is read, from where Seek says.
func (c *Call[C]) OpenBlob(blob Blob) (*BlobReader, error) { return c.core.openBlob(blob) }

// errNoBlobs says that a host keeps no large values.
func errNoBlobs() *Error {
	return &Error{Code: CodeUnsupported, Applied: NotApplied, Message: "the host keeps no large values for this call", Hint: "run it in a workflow, with a flowrun that has them"}
}

// defaultUpload is the name of the one large value of a call.
const defaultUpload = "blob"

// BlobWriter writes a large value in parts of BlobPart bytes, each durable when it is sent.
// Not safe for concurrent use.
type BlobWriter struct {
	core     *core
	options  BlobOptions
	sent     int64
	buffer   []byte
	note     []byte
	newNote  []byte
	finished *Blob
}

func (c *core) newBlob(options BlobOptions) (*BlobWriter, error) {
	if !c.blobs {
		return nil, errNoBlobs()
	}
	if options.Upload == "" {
		options.Upload = defaultUpload
	}
	w := &BlobWriter{core: c, options: options}
	return w, w.put(&pluginv1.PutBlobRequest{})
}

// put sends a request, and takes over what the host says.
func (w *BlobWriter) put(request *pluginv1.PutBlobRequest) error {
	client, err := w.core.services.get("large values")
	if err != nil {
		return err
	}
	request.Upload, request.Sensitive = w.options.Upload, w.options.Sensitive
	request.MediaType, request.Name = w.options.MediaType, w.options.Name
	response, err := client.PutBlob(w.core.hostContext(), request)
	if err != nil {
		return hostError(w.core.ctx, "write a large value", err)
	}
	w.sent, w.note, w.finished = int64(response.GetSize()), response.GetNote(), nil
	if encoded := response.GetReference().GetJson(); len(encoded) > 0 {
		w.finished = new(Blob)
		if err := decodeExact(encoded, w.finished); err != nil {
			return &Error{Code: CodeInternal, Message: "write a large value: read its reference: " + err.Error()}
		}
	}
	return nil
}

// Size is how many bytes of the content there are: where to go on with it.
func (w *BlobWriter) Size() int64 { return w.sent + int64(len(w.buffer)) }

// Note returns what an attempt before left with SetNote; nil without one.
func (w *BlobWriter) Note() []byte { return w.note }

// SetNote leaves something for the attempt that goes on with the upload, at most 4 KiB: what
// tells whether the source is still the same, such as an ETag. It is as durable as the next
// part.
func (w *BlobWriter) SetNote(note []byte) { w.newNote = append([]byte(nil), note...) }

// Finished returns the value that an attempt before has finished already: there is nothing
// to write, unless Restart takes it away.
func (w *BlobWriter) Finished() (Blob, bool) {
	if w.finished == nil {
		return Blob{}, false
	}
	return *w.finished, true
}

// Restart begins anew: what was sent is dropped with the next part.
func (w *BlobWriter) Restart() { w.sent, w.buffer, w.note, w.finished = 0, w.buffer[:0], nil, nil }

// Write adds bytes. They are sent when a part of them is full.
func (w *BlobWriter) Write(p []byte) (n int, err error) {
	if w.finished != nil {
		return 0, errors.New("the large value is finished")
	}
	if w.buffer == nil {
		w.buffer = make([]byte, 0, BlobPart)
	}
	for len(p) > 0 {
		taken := min(BlobPart-len(w.buffer), len(p))
		w.buffer = append(w.buffer, p[:taken]...)
		n, p = n+taken, p[taken:]
		if len(w.buffer) == BlobPart {
			if err := w.Flush(); err != nil {
				return n, err
			}
		}
	}
	return n, nil
}

// ReadFrom is that of io.ReaderFrom: what was read before an error of the source is sent, so
// that the next attempt goes on behind it.
func (w *BlobWriter) ReadFrom(source io.Reader) (n int64, err error) {
	if w.buffer == nil {
		w.buffer = make([]byte, 0, BlobPart)
	}
	for {
		read, err := source.Read(w.buffer[len(w.buffer):BlobPart])
		w.buffer = w.buffer[:len(w.buffer)+read]
		n += int64(read)
		if len(w.buffer) == BlobPart || err != nil && !errors.Is(err, io.EOF) {
			if flushErr := w.Flush(); flushErr != nil {
				return n, flushErr
			}
		}
		if errors.Is(err, io.EOF) {
			return n, nil
		}
		if err != nil {
			return n, err
		}
	}
}

// Flush sends what was written: it is durable when Flush returns.
func (w *BlobWriter) Flush() error {
	if len(w.buffer) == 0 && w.newNote == nil {
		return nil
	}
	return w.send(false)
}

func (w *BlobWriter) send(last bool) error {
	err := w.put(&pluginv1.PutBlobRequest{Offset: uint64(w.sent), Data: w.buffer, Note: w.newNote, Last: last})
	if err == nil {
		w.buffer, w.newNote = w.buffer[:0], nil
	}
	return err
}

// Finish sends what is left and ends the value.
func (w *BlobWriter) Finish() (Blob, error) {
	if w.finished == nil {
		if err := w.send(true); err != nil {
			return Blob{}, err
		}
	}
	if w.finished == nil {
		return Blob{}, &Error{Code: CodeInternal, Message: "write a large value: the host gave no reference"}
	}
	return *w.finished, nil
}

// BlobReader reads a large value. Read, Seek and ReadAt are safe for concurrent use.
type BlobReader struct {
	core *core
	blob Blob

	mu     sync.Mutex
	offset int64
	part   []byte // of the content, from at
	at     int64
	closed bool
}

func (c *core) openBlob(blob Blob) (*BlobReader, error) {
	if !c.blobs {
		return nil, errNoBlobs()
	}
	r := &BlobReader{core: c, blob: blob}
	if err := r.load(0); err != nil {
		return nil, err
	}
	return r, nil
}

// load reads the part that begins at an offset.
func (r *BlobReader) load(offset int64) error {
	client, err := r.core.services.get("large values")
	if err != nil {
		return err
	}
	response, err := client.GetBlob(r.core.hostContext(), &pluginv1.GetBlobRequest{Digest: r.blob.Digest, Offset: uint64(offset), Length: BlobPart})
	if err != nil {
		return hostError(r.core.ctx, "read a large value", err)
	}
	r.part, r.at, r.blob.Size = response.GetData(), offset, int64(response.GetSize())
	return nil
}

// Size is that of the content, in bytes.
func (r *BlobReader) Size() int64 { return r.blob.Size }

// Read is that of io.Reader.
func (r *BlobReader) Read(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	n, err := r.readAt(p, r.offset)
	r.offset += int64(n)
	if n > 0 {
		return n, nil
	}
	return n, err
}

// ReadAt is that of io.ReaderAt.
func (r *BlobReader) ReadAt(p []byte, offset int64) (n int, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for n < len(p) && err == nil {
		var read int
		read, err = r.readAt(p[n:], offset+int64(n))
		n += read
	}
	return n, err
}

// readAt reads from one part.
func (r *BlobReader) readAt(p []byte, offset int64) (int, error) {
	switch {
	case r.closed:
		return 0, errors.New("the large value is closed")
	case offset < 0:
		return 0, fmt.Errorf("offset %d", offset)
	case len(p) == 0:
		return 0, nil
	case offset >= r.blob.Size:
		return 0, io.EOF
	}
	if offset < r.at || offset >= r.at+int64(len(r.part)) {
		if err := r.load(offset); err != nil {
			return 0, err
		}
		if len(r.part) == 0 {
			return 0, io.ErrUnexpectedEOF
		}
	}
	return copy(p, r.part[offset-r.at:]), nil
}

// Seek is that of io.Seeker.
func (r *BlobReader) Seek(offset int64, whence int) (int64, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch whence {
	case io.SeekCurrent:
		offset += r.offset
	case io.SeekEnd:
		offset += r.blob.Size
	}
	if offset < 0 {
		return 0, fmt.Errorf("seek to %d", offset)
	}
	r.offset = offset
	return offset, nil
}

// Close ends the reading.
func (r *BlobReader) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed, r.part = true, nil
	return nil
}

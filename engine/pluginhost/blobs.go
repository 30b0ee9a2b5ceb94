package pluginhost

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"sync"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/pluginhost/gate"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/schema"
	"github.com/flowrun/flowrun/sdk/proto/handshake"
	pluginv1 "github.com/flowrun/flowrun/sdk/proto/pluginv1"
)

// opaqueBlobNote is the field that notes of uploads are sealed for.
const opaqueBlobNote = "blob_note"

// maxCallBlobs bounds the large values that one call may finish or have on their way.
const maxCallBlobs = 1000

// callBlobs are the large values of one Execute: what it was given, what it has finished.
// They end with the call: what a plugin still writes then is refused.
type callBlobs struct {
	store      BlobStore
	call       BlobCall
	plugin     string
	connection string

	writing sync.RWMutex // held for writing by the end of the call
	ended   bool

	mu       sync.Mutex
	given    map[string]bool // digests in the input
	uploads  map[string]*callUpload
	finished map[string]int64      // size by digest
	readers  map[string]BlobReader // that are open
}

// callUpload is an upload of the call.
type callUpload struct {
	mu   sync.Mutex
	end  int64  // where tail ends; 0 = nothing was sent by this call
	tail []byte // what stands before end, at most secretReach bytes
}

// blobsOf makes the large values of a call; nil where it can have none.
func (e *execution) blobsOf(connection string) *callBlobs {
	store := e.unit.host.options.Blobs
	if store == nil || e.req.RunID == "" || e.clear {
		return nil
	}
	sum := sha256.Sum256([]byte(strconv.Itoa(len(e.req.Operation)) + ":" + e.req.Operation + e.req.IdempotencyKey))
	b := &callBlobs{
		store: store, plugin: e.action.Plugin, connection: connection,
		call: BlobCall{Run: e.req.RunID, Step: e.req.Step, ID: hex.EncodeToString(sum[:12])},
	}
	for _, ref := range referencesIn(e.input.json, e.action.input) {
		note(&b.given, ref.Digest, true)
	}
	return b
}

// note puts something into a map of a call's large values, of which most calls have none.
func note[V any](into *map[string]V, key string, value V) {
	if *into == nil {
		*into = map[string]V{}
	}
	(*into)[key] = value
}

// reference is what stands in documents for a large value.
type reference struct {
	Digest    string `json:"digest"`
	Size      int64  `json:"size"`
	MediaType string `json:"media_type"`
	Name      string `json:"name"`
	pointer   string
}

// referencesIn finds the references of a document, by its type.
func referencesIn(doc json.RawMessage, t *schema.Type) (refs []reference) {
	if !t.HasBlob() {
		return nil
	}
	tree, err := gate.Tree(doc)
	if err != nil {
		return nil
	}
	_, _ = visit(tree, t, "", func(v any, t *schema.Type, pointer string) (any, bool, error) {
		if t == nil || !t.Blob {
			return v, false, nil
		}
		ref := reference{pointer: pointer}
		if fields, is := v.(map[string]any); is {
			ref.Digest, _ = fields["digest"].(string)
			if size, is := fields["size"].(json.Number); is {
				ref.Size, _ = size.Int64()
			}
			refs = append(refs, ref)
		}
		return v, true, nil
	})
	return refs
}

// admit refuses references in an output that the call has not made itself, and was not
// given.
func (b *callBlobs) admit(doc json.RawMessage, a *actionContract) *runs.Error {
	for _, ref := range referencesIn(doc, a.output) {
		if b == nil {
			return forged(a, ref, "this call keeps no large values")
		}
		b.mu.Lock()
		size, made := b.finished[ref.Digest]
		given := b.given[ref.Digest]
		b.mu.Unlock()
		switch {
		case made && size != ref.Size:
			return forged(a, ref, fmt.Sprintf("it has %d bytes, and the reference says %d", size, ref.Size))
		case !made && !given:
			return forged(a, ref, "the call has not finished it, and was not given it")
		}
	}
	return nil
}

func forged(a *actionContract, ref reference, why string) *runs.Error {
	failure := runs.Failure(plan.KindUnexpectedResponse, runs.AppliedUnknown, "the output of %s refers to a large value at %s that it can't give: %s", a.FullName(), place(ref.pointer), why)
	failure.Details, _ = json.Marshal(map[string]string{"output_pointer": ref.pointer})
	return failure
}

// end ends the large values of a call: nothing is written for it any more. After an answer
// what is not in it goes; after a failure it stays for the attempt that follows.
func (b *callBlobs) end(answer runs.Answer) error {
	if b == nil {
		return nil
	}
	b.writing.Lock()
	defer b.writing.Unlock()
	b.ended = true
	for _, reader := range b.readers {
		_ = reader.Close()
	}
	if answer.Completed == nil {
		return nil
	}
	var keep []string
	if len(b.finished) > 0 {
		keep = slices.DeleteFunc(slices.Sorted(maps.Keys(b.finished)), func(digest string) bool {
			return !bytes.Contains(answer.Completed.Output, []byte(digest))
		})
	}
	return b.store.EndBlobs(b.call, keep)
}

// blobs returns the large values of the call that a plugin names, held open until release.
func (s *services) blobs(ctx context.Context) (b *callBlobs, release func(), err error) {
	if s.process.unit.host.options.Blobs == nil {
		return nil, nil, status.Error(codes.Unimplemented, "this host keeps no large values")
	}
	call := s.process.callOf(ctx)
	if call == nil {
		return nil, nil, status.Error(codes.PermissionDenied, "say which call the large value is of, in the metadata "+handshake.CallKey+"; a call that has ended has none")
	}
	if call.blobs == nil {
		return nil, nil, status.Error(codes.FailedPrecondition, "this call keeps no large values: it belongs to no run")
	}
	call.blobs.writing.RLock()
	if call.blobs.ended {
		call.blobs.writing.RUnlock()
		return nil, nil, status.Error(codes.PermissionDenied, "the call has ended")
	}
	return call.blobs, call.blobs.writing.RUnlock, nil
}

// PutBlob adds a part to a large value, ends it, or tells how far it has come.
func (s *services) PutBlob(ctx context.Context, r *pluginv1.PutBlobRequest) (*pluginv1.PutBlobResponse, error) {
	b, release, err := s.blobs(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	if err := checkPut(r); err != nil {
		return nil, err
	}
	u, err := b.upload(r.GetUpload())
	if err != nil {
		return nil, err
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(r.GetData()) > 0 || len(r.GetNote()) > 0 || r.GetLast() {
		if err := s.putPart(b, u, r); err != nil {
			return nil, s.blobFault(ctx, "write a large value", err)
		}
	}
	stage, err := b.store.StageBlob(b.call, r.GetUpload())
	if err == nil && r.GetLast() && stage.Finished == nil {
		stage.Finished, err = b.finish(r.GetUpload())
	}
	if err != nil {
		return nil, s.blobFault(ctx, "write a large value", err)
	}
	note, failure := s.process.unit.host.openBytes(b.plugin, b.connection, opaqueBlobNote, stage.Note)
	if failure != nil {
		return nil, s.failed("write a large value", failure)
	}
	response := &pluginv1.PutBlobResponse{Size: uint64(stage.Size), Note: note}
	if stage.Finished != nil {
		b.made(stage.Finished)
		encoded, err := json.Marshal(reference{Digest: stage.Finished.Digest, Size: stage.Finished.Size, MediaType: r.GetMediaType(), Name: r.GetName()})
		if err != nil {
			return nil, s.internal("write a large value", err)
		}
		response.Size, response.Reference = uint64(stage.Finished.Size), &pluginv1.Value{Json: encoded}
	}
	return response, nil
}

func checkPut(r *pluginv1.PutBlobRequest) error {
	switch {
	case r.GetUpload() == "" || len(r.GetUpload()) > handshake.MaxBlobUpload:
		return status.Errorf(codes.InvalidArgument, "the name of an upload has 1 to %d bytes", handshake.MaxBlobUpload)
	case len(r.GetData()) > handshake.MaxBlobPart:
		return status.Errorf(codes.InvalidArgument, "a part has at most %d bytes, this one has %d", handshake.MaxBlobPart, len(r.GetData()))
	case len(r.GetNote()) > handshake.MaxBlobNote:
		return status.Errorf(codes.InvalidArgument, "a note has at most %d bytes, this one has %d", handshake.MaxBlobNote, len(r.GetNote()))
	case r.GetOffset() > 1<<62:
		return status.Error(codes.InvalidArgument, "the offset is no place in a large value")
	}
	return nil
}

// upload returns an upload of the call.
func (b *callBlobs) upload(name string) (*callUpload, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	u := b.uploads[name]
	if u == nil {
		if len(b.uploads) == maxCallBlobs {
			return nil, status.Errorf(codes.ResourceExhausted, "a call has at most %d large values", maxCallBlobs)
		}
		u = &callUpload{}
		note(&b.uploads, name, u)
	}
	return u, nil
}

// putPart adds a part. One that holds a known secret is sealed, whatever the plugin says.
func (s *services) putPart(b *callBlobs, u *callUpload, r *pluginv1.PutBlobRequest) error {
	h := s.process.unit.host
	part := BlobPart{Offset: int64(r.GetOffset()), Data: r.GetData(), Sealed: r.GetSensitive() || h.gate.Holds(string(r.GetData()))}
	if !r.GetSensitive() && part.Offset > 0 && len(part.Data) > 0 {
		across, err := s.sealAcross(b, u, r)
		if err != nil {
			return err
		}
		part.Sealed = part.Sealed || across
	}
	if len(r.GetNote()) > 0 {
		sealed, failure := h.sealBytes(b.plugin, b.connection, opaqueBlobNote, r.GetNote())
		if failure != nil {
			return failure
		}
		part.Note = sealed
	}
	if len(part.Data) == 0 && part.Note == nil {
		stage, err := b.store.StageBlob(b.call, r.GetUpload())
		if err != nil || stage.Finished != nil || stage.Size > 0 {
			return err // it only ends
		}
	}
	if err := b.store.AppendBlob(b.call, r.GetUpload(), part); err != nil {
		return err
	}
	u.sent(part, h.masked)
	return nil
}

// masked masks the known secrets of bytes.
func (h *Host) masked(data []byte) []byte {
	if h.options.Redactor == nil {
		return data
	}
	return []byte(h.options.Redactor.Redact(string(data)))
}

// secretReach is how far, in bytes, a secret is looked for on both sides of the border of
// two parts.
const secretReach = 16 << 10

// sent notes the end of a part. Secrets that are whole in it were found: they are masked, so
// that they are not found again with what follows.
func (u *callUpload) sent(part BlobPart, mask func([]byte) []byte) {
	if part.Offset != u.end {
		u.tail = nil
	}
	u.end = part.Offset + int64(len(part.Data))
	u.tail = append(u.tail, part.Data[max(0, len(part.Data)-secretReach):]...)
	u.tail = bytes.Clone(mask(u.tail[max(0, len(u.tail)-secretReach):]))
}

// sealAcross looks for a known secret across the border of a part and those before it. They
// are written anew, sealed, when there is one, and the new one is to be sealed. A kill in
// the middle of it takes at most those parts away: the upload goes on before them.
func (s *services) sealAcross(b *callBlobs, u *callUpload, r *pluginv1.PutBlobRequest) (found bool, err error) {
	offset := int64(r.GetOffset())
	if offset != u.end { // of an attempt before, or after a step back
		parts, err := b.store.StagedParts(b.call, r.GetUpload(), offset, secretReach)
		if err != nil {
			return false, err
		}
		u.end, u.tail = 0, nil
		for _, part := range parts {
			u.sent(part, s.process.unit.host.masked)
		}
	}
	if u.end != offset || !s.process.unit.host.gate.Holds(string(u.tail)+string(r.GetData()[:min(secretReach, len(r.GetData()))])) {
		return false, nil // at another offset the store refuses it
	}
	parts, err := b.store.StagedParts(b.call, r.GetUpload(), offset, secretReach)
	if err != nil {
		return false, err
	}
	clear := slices.IndexFunc(parts, func(part BlobPart) bool { return !part.Sealed })
	if clear < 0 {
		return true, nil
	}
	for _, part := range parts[clear:] {
		part.Sealed = true
		if err := b.store.AppendBlob(b.call, r.GetUpload(), part); err != nil {
			return false, err
		}
	}
	return true, nil
}

// finish ends an upload.
func (b *callBlobs) finish(upload string) (*Blob, error) {
	blob, err := b.store.FinishBlob(b.call, upload)
	if err != nil {
		return nil, err
	}
	return &blob, nil
}

// made notes that the call may give a value.
func (b *callBlobs) made(blob *Blob) {
	b.mu.Lock()
	defer b.mu.Unlock()
	note(&b.finished, blob.Digest, blob.Size)
}

// GetBlob reads a part of a large value.
func (s *services) GetBlob(ctx context.Context, r *pluginv1.GetBlobRequest) (*pluginv1.GetBlobResponse, error) {
	b, release, err := s.blobs(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	reader, done, err := b.reader(r.GetDigest())
	if err != nil {
		return nil, s.blobFault(ctx, "read a large value", err)
	}
	defer done()
	length := int64(r.GetLength())
	if length == 0 || length > handshake.MaxBlobPart {
		length = handshake.MaxBlobPart
	}
	response := &pluginv1.GetBlobResponse{Size: uint64(reader.Size())}
	if r.GetOffset() >= response.Size {
		return response, nil
	}
	offset := int64(r.GetOffset())
	response.Data = make([]byte, min(length, reader.Size()-offset))
	if _, err := reader.ReadAt(response.Data, offset); err != nil && !errors.Is(err, io.EOF) {
		return nil, s.blobFault(ctx, "read a large value", err)
	}
	return response, nil
}

// maxBlobReaders bounds the values that a call keeps open: others are opened for each part.
const maxBlobReaders = 8

// reader opens a value that the call was given, or has made. done is to be called after
// each use.
func (b *callBlobs) reader(digest string) (reader BlobReader, done func(), err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if reader := b.readers[digest]; reader != nil {
		return reader, func() {}, nil
	}
	if _, made := b.finished[digest]; !made && !b.given[digest] {
		return nil, nil, &BlobRefusal{Text: "the call was not given this large value"}
	}
	if reader, err = b.store.OpenBlob(b.call, digest); err != nil {
		return nil, nil, err
	}
	if len(b.readers) < maxBlobReaders {
		note(&b.readers, digest, reader) // until the call ends
		return reader, func() {}, nil
	}
	return reader, func() { _ = reader.Close() }, nil
}

// blobFault tells a plugin why its large value was not written or read.
func (s *services) blobFault(ctx context.Context, doing string, err error) error {
	refused, over := new(BlobRefusal), new(BlobQuotaError)
	switch {
	case errors.As(err, &refused):
		return status.Error(codes.InvalidArgument, refused.Text)
	case errors.As(err, &over):
		return s.overQuota(ctx, &excess{quota: over.Quota, field: "large value", size: over.Size, limit: over.Limit})
	}
	return s.failed(doing, err)
}

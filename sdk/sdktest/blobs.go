package sdktest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"

	"connectrpc.com/connect"

	"github.com/flowrun/flowrun/sdk"
	"github.com/flowrun/flowrun/sdk/proto/handshake"
	pluginv1 "github.com/flowrun/flowrun/sdk/proto/pluginv1"
)

// upload is a large value on its way.
type upload struct {
	content   []byte
	note      []byte
	sensitive bool
	finished  string // its digest; "" = it is not
}

// PutBlob keeps a large value for a call to read, as if another step had given it.
func (h *Host) PutBlob(content []byte, mediaType, name string) sdk.Blob {
	h.keeper.mu.Lock()
	defer h.keeper.mu.Unlock()
	return sdk.Blob{Digest: h.keeper.keepBlob(content), Size: int64(len(content)), MediaType: mediaType, Name: name}
}

// Blob returns the content of a large value that a call has finished; nil for none.
func (h *Host) Blob(blob sdk.Blob) []byte {
	h.keeper.mu.Lock()
	defer h.keeper.mu.Unlock()
	return bytes.Clone(h.keeper.blobs[blob.Digest])
}

// Upload returns what a call has sent of a large value, and its note; "" is the one of
// BlobOptions without a name. Uploads go on from call to call under the same Key.
func (h *Host) Upload(key, upload string) (content, note []byte) {
	h.keeper.mu.Lock()
	defer h.keeper.mu.Unlock()
	u := h.keeper.uploads[key+"|"+cmpOr(upload, "blob")]
	if u == nil {
		return nil, nil
	}
	return bytes.Clone(u.content), bytes.Clone(u.note)
}

// FailBlobs makes the host refuse parts once a call has sent so many bytes; 0 = never.
func (h *Host) FailBlobs(after int64) {
	h.keeper.mu.Lock()
	defer h.keeper.mu.Unlock()
	h.keeper.failAfter = after
}

func cmpOr(text, other string) string {
	if text == "" {
		return other
	}
	return text
}

// callKey is the call that a question belongs to.
func callKey(ctx context.Context) string {
	call, ok := connect.CallInfoForHandlerContext(ctx)
	if !ok {
		return ""
	}
	return call.RequestHeader().Get(handshake.CallKey)
}

func (h *keeper) keepBlob(content []byte) string {
	sum := sha256.Sum256(content)
	digest := "sha256:" + hex.EncodeToString(sum[:])
	h.blobs[digest] = append([]byte{}, content...)
	return digest
}

// PutBlob serves Call.NewBlob as the real host does.
func (h *keeper) PutBlob(ctx context.Context, request *pluginv1.PutBlobRequest) (*pluginv1.PutBlobResponse, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case request.GetUpload() == "" || len(request.GetUpload()) > handshake.MaxBlobUpload:
		return nil, connect.NewError(connect.CodeInvalidArgument, fmt.Errorf("the name of an upload has 1 to %d bytes", handshake.MaxBlobUpload))
	case len(request.GetData()) > handshake.MaxBlobPart:
		return nil, connect.NewError(connect.CodeInvalidArgument, fmt.Errorf("a part has at most %d bytes", handshake.MaxBlobPart))
	case len(request.GetNote()) > handshake.MaxBlobNote:
		return nil, connect.NewError(connect.CodeInvalidArgument, fmt.Errorf("a note has at most %d bytes", handshake.MaxBlobNote))
	}
	key := callKey(ctx) + "|" + request.GetUpload()
	u := h.uploads[key]
	if u == nil {
		u = &upload{}
	}
	if len(request.GetData()) > 0 || len(request.GetNote()) > 0 || request.GetLast() {
		next, err := u.with(request, h.failAfter)
		if err != nil {
			return nil, err
		}
		u = next
		h.uploads[key] = u
	}
	response := &pluginv1.PutBlobResponse{Size: uint64(len(u.content)), Note: u.note}
	if request.GetLast() && u.finished == "" {
		u.finished = h.keepBlob(u.content)
	}
	if u.finished != "" {
		encoded, err := json.Marshal(sdk.Blob{Digest: u.finished, Size: int64(len(u.content)), MediaType: request.GetMediaType(), Name: request.GetName()})
		if err != nil {
			return nil, err
		}
		response.Reference = &pluginv1.Value{Json: encoded}
	}
	return response, nil
}

// with returns the upload with a part.
func (u *upload) with(request *pluginv1.PutBlobRequest, failAfter int64) (*upload, error) {
	offset, size := request.GetOffset(), uint64(len(u.content))
	next := &upload{content: u.content, note: u.note, sensitive: u.sensitive || request.GetSensitive(), finished: u.finished}
	if len(request.GetNote()) > 0 {
		next.note = request.GetNote()
	}
	switch {
	case u.finished != "" && offset > 0 && len(request.GetData()) > 0:
		return nil, connect.NewError(connect.CodeInvalidArgument, errors.New("the large value is finished"))
	case u.finished != "" && len(request.GetData()) == 0:
		return next, nil
	case offset > size:
		return nil, connect.NewError(connect.CodeInvalidArgument, fmt.Errorf("a part at %d leaves a hole: %d bytes are there", offset, size))
	case failAfter > 0 && int64(offset)+int64(len(request.GetData())) > failAfter:
		return nil, connect.NewError(connect.CodeUnavailable, errors.New("the disk is full, a test says"))
	}
	next.content, next.finished = append(bytes.Clone(u.content[:offset]), request.GetData()...), ""
	return next, nil
}

// GetBlob serves Call.OpenBlob.
func (h *keeper) GetBlob(_ context.Context, request *pluginv1.GetBlobRequest) (*pluginv1.GetBlobResponse, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	content, ok := h.blobs[request.GetDigest()]
	if !ok {
		return nil, connect.NewError(connect.CodeInvalidArgument, errors.New("the call was not given this large value"))
	}
	size := uint64(len(content))
	from := min(request.GetOffset(), size)
	length := uint64(request.GetLength())
	if length == 0 || length > handshake.MaxBlobPart {
		length = handshake.MaxBlobPart
	}
	return &pluginv1.GetBlobResponse{Data: content[from:min(from+length, size)], Size: size}, nil
}

package conformance

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"sync"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/flowrun/flowrun/sdk/proto/handshake"
	pluginv1 "github.com/flowrun/flowrun/sdk/proto/pluginv1"
)

// blobs are the large values that a plugin sends, and what it does wrong with them.
type blobs struct {
	mu       sync.Mutex
	uploads  map[string]*upload // by call and name
	finished map[string][]byte  // content by digest
	puts     int
	asked    map[string]bool // uploads that were asked about before their first part
	wrong    string          // the first part that no host takes
}

// upload is a large value on its way.
type upload struct {
	content []byte
	borders map[int]bool // where parts begin
	note    []byte
	digest  string // "" = it goes on
}

func newBlobs() *blobs {
	return &blobs{uploads: map[string]*upload{}, finished: map[string][]byte{}, asked: map[string]bool{}}
}

// callName is the call that a question of the plugin belongs to.
func callName(ctx context.Context) string {
	if named := metadata.ValueFromIncomingContext(ctx, handshake.CallKey); len(named) == 1 {
		return named[0]
	}
	return ""
}

// PutBlob takes a part as the contract has it, and notes one that breaks it.
func (b *blobs) PutBlob(ctx context.Context, r *pluginv1.PutBlobRequest) (*pluginv1.PutBlobResponse, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.puts++
	call := callName(ctx)
	key := call + "|" + r.GetUpload()
	u := b.uploads[key]
	if u == nil {
		u = &upload{borders: map[int]bool{0: true}}
		b.uploads[key] = u
	}
	question := len(r.GetData()) == 0 && len(r.GetNote()) == 0 && !r.GetLast()
	if question {
		b.asked[key] = true
	} else if why := u.refuses(r, call); why != "" {
		if b.wrong == "" {
			b.wrong = fmt.Sprintf("PutBlob %q at offset %d with %d bytes: %s", r.GetUpload(), r.GetOffset(), len(r.GetData()), why)
		}
		return nil, status.Error(codes.InvalidArgument, why)
	}
	if !question {
		u.take(r)
	}
	response := &pluginv1.PutBlobResponse{Size: uint64(len(u.content)), Note: u.note}
	if r.GetLast() && u.digest == "" {
		sum := sha256.Sum256(u.content)
		u.digest = "sha256:" + hex.EncodeToString(sum[:])
		b.finished[u.digest] = u.content
	}
	if u.digest != "" {
		reference, err := json.Marshal(map[string]any{"digest": u.digest, "size": len(u.content), "media_type": r.GetMediaType(), "name": r.GetName()})
		if err != nil {
			return nil, err
		}
		response.Reference = &pluginv1.Value{Json: reference}
	}
	return response, nil
}

// refuses says why no host takes a part; "" = it does.
func (u *upload) refuses(r *pluginv1.PutBlobRequest, call string) string {
	offset := r.GetOffset()
	switch {
	case call == "":
		return "it does not name its call (" + handshake.CallKey + ")"
	case r.GetUpload() == "" || len(r.GetUpload()) > handshake.MaxBlobUpload:
		return fmt.Sprintf("the name of an upload has 1 to %d bytes", handshake.MaxBlobUpload)
	case len(r.GetData()) > handshake.MaxBlobPart:
		return fmt.Sprintf("a part has at most %d bytes", handshake.MaxBlobPart)
	case len(r.GetNote()) > handshake.MaxBlobNote:
		return fmt.Sprintf("a note has at most %d bytes", handshake.MaxBlobNote)
	case u.digest != "" && offset > 0 && len(r.GetData()) > 0:
		return "the upload has ended"
	case offset > uint64(len(u.content)):
		return fmt.Sprintf("it leaves a hole: %d bytes are there", len(u.content))
	case offset < uint64(len(u.content)) && !u.borders[int(offset)] && len(r.GetData()) > 0:
		return "it begins inside another part"
	}
	return ""
}

// take adds a part.
func (u *upload) take(r *pluginv1.PutBlobRequest) {
	if len(r.GetNote()) > 0 {
		u.note = r.GetNote()
	}
	if u.digest != "" && len(r.GetData()) == 0 {
		return
	}
	u.digest = ""
	u.content = append(bytes.Clone(u.content[:r.GetOffset()]), r.GetData()...)
	u.borders[int(r.GetOffset())] = true
}

// GetBlob reads a large value that was finished.
func (b *blobs) GetBlob(_ context.Context, r *pluginv1.GetBlobRequest) (*pluginv1.GetBlobResponse, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	content, ok := b.finished[r.GetDigest()]
	if !ok {
		return nil, status.Error(codes.InvalidArgument, "the call was not given this large value")
	}
	size := uint64(len(content))
	from := min(r.GetOffset(), size)
	length := uint64(r.GetLength())
	if length == 0 || length > handshake.MaxBlobPart {
		length = handshake.MaxBlobPart
	}
	return &pluginv1.GetBlobResponse{Data: content[from:min(from+length, size)], Size: size}, nil
}

// uploadsOf are the uploads of a call, by name.
func (b *blobs) uploadsOf(call string) map[string]*upload {
	b.mu.Lock()
	defer b.mu.Unlock()
	found := map[string]*upload{}
	for key, u := range b.uploads {
		if name, ok := cutCall(key, call); ok {
			found[name] = u
		}
	}
	return found
}

func cutCall(key, call string) (string, bool) {
	if len(key) > len(call) && key[:len(call)+1] == call+"|" {
		return key[len(call)+1:], true
	}
	return "", false
}

// stage leaves the begin of an upload for a call, as one that was killed does.
func (b *blobs) stage(call, name string, content, note []byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.uploads[call+"|"+name] = &upload{content: bytes.Clone(content), borders: map[int]bool{0: true}, note: note}
}

// looked reports whether an upload was asked about.
func (b *blobs) looked(call, name string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.asked[call+"|"+name]
}

// firstWrong is the first part that no host takes, "" = none.
func (b *blobs) firstWrong() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.wrong
}

// count is how many parts and questions there were.
func (b *blobs) count() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.puts
}

// known reports whether a digest is one of a large value that was finished.
func (b *blobs) known(digest string) (size int, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	content, ok := b.finished[digest]
	return len(content), ok
}

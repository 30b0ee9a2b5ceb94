package store

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
)

// The bounds of large values.
const (
	MaxBlobPart   = 1 << 20 // bytes of one part
	MaxBlobParts  = 1 << 17 // parts of one value: the index of a reader stays small
	MaxBlobNote   = 4 << 10 // bytes of what a writer leaves for itself
	MaxUploadName = 1 << 10 // bytes
)

// The errors of large values that callers branch on.
var (
	ErrBlobNotFound = errors.New("the run has no such large value")
	ErrBlobOffset   = errors.New("the large value does not go on there")    // matches *BlobOffsetError
	ErrBlobFinished = errors.New("the large value is finished")             // a part of it is refused, but for offset 0
	ErrBlobTooMany  = errors.New("the large value has too many parts")      // MaxBlobParts
	ErrBlobSealed   = errors.New("the large value is sealed with a key")    // which this store was not given
	ErrRunEnded     = errors.New("the run has ended")                       // it takes no part of a large value
	ErrBlobUnknown  = errors.New("nothing was sent of this large value")    // FinishBlob
	ErrBlobPart     = errors.New("the part of a large value is malformed")  // too large, or a name or note is
	ErrBlobDigest   = errors.New("it is not the digest of a large value")   // not sha256: and 64 digits
	ErrBlobFile     = errors.New("the file of a large value can't be used") // the disk refused; nothing acknowledged is lost
)

// BlobKeeper gives access to the large values of a store.
type BlobKeeper interface {
	// Blobs returns the large values of the store, whose sealed parts pass sealer. With
	// nil no sealed part is written or read (ErrBlobSealed).
	Blobs(sealer BlobSealer) Blobs
	// SweepBlobs removes what nothing refers to any more: files that a crash left, and
	// references of runs that are not there. It never touches what a run writes, and may
	// be stopped at any moment. Those of runs that were handed a value and not created yet
	// are left alone when their id is younger than an hour by the store's clock.
	SweepBlobs(ctx context.Context) (BlobSweep, error)
	// BlobUsage counts all large values. It reads a row of each.
	BlobUsage() (BlobUsage, error)
}

// Blobs keeps large values of runs, in parts, by the digest of their content. A value is
// good within its run, and within the runs that it was handed to. Sizes and offsets are of
// the clear content, in bytes; what a part takes on the disk besides is in BlobBytes alone.
type Blobs interface {
	// StageBlob returns how far an upload has come: the durable bytes, the note that its
	// writer left, and its end. The zero BlobStage for one that is not known.
	StageBlob(run, upload string) (BlobStage, error)
	// AppendBlob adds a part of at most MaxBlobPart bytes at offset, durable when it
	// returns. An offset below the end drops what stands behind it (0 = anew, also when it
	// was finished); it must be the begin of a part. *BlobOffsetError for others. sealed: no
	// byte of the part touches the disk in clear. note, when not nil, takes the old one's
	// place. After an error of the disk (ErrBlobFile, *PressureError) all that was
	// acknowledged is still there. ErrRunNotFound.
	AppendBlob(run, upload string, offset int64, part []byte, sealed bool, note []byte) error
	// StagedParts returns the parts of an upload that hold the last length bytes before
	// offset, in clear: what is found to be a secret when it goes on is sealed after all.
	StagedParts(run, upload string, offset, length int64) ([]StagedPart, error)
	// FinishBlob ends an upload: its content stands under its digest, belonging to run. The
	// same upload finished again returns the same.
	FinishBlob(run, upload string) (BlobInfo, error)
	// OpenBlob reads: every part is held against its checksum when it is read
	// (*BlobDamage). ErrBlobNotFound where run has no reference to digest.
	OpenBlob(run, digest string) (BlobReader, error)
	// BlobInfo tells of a finished value of a run. ErrBlobNotFound.
	BlobInfo(run, digest string) (BlobInfo, error)
	// ShareBlob lets another run refer to a value of run from, too. The other run need not
	// exist yet. ErrBlobNotFound.
	ShareBlob(from, to, digest string) error
	// DropUploads takes away what the uploads of a run whose names begin with prefix have
	// left, but for those that became a value in keep: the call that they belong to has ended.
	DropUploads(run, prefix string, keep []string) error
	// RunBlobs returns the finished values of a run, by digest.
	RunBlobs(run string) ([]BlobInfo, error)
	// BlobBytes is what a run's values take on the disk, with those that are on their way.
	// A value that several runs refer to counts in each of them.
	BlobBytes(run string) (int64, error)
}

// BlobSealer seals parts with keys that the store does not have. What was sealed for a
// place opens for that place alone. Safe for concurrent use.
type BlobSealer interface {
	Seal(place string, clear []byte) ([]byte, error)
	Open(place string, sealed []byte) ([]byte, error)
}

// BlobInfo tells of a finished large value.
type BlobInfo struct {
	Digest string // "sha256:" and 64 hex digits, of the clear content
	Size   int64  // of the clear content
	Parts  int
	Sealed bool  // a part of it is sealed: it holds a secret, or its plugin says so
	Stored int64 // bytes that it takes
}

// BlobStage is how far an upload has come.
type BlobStage struct {
	Size     int64
	Note     []byte
	Finished *BlobInfo // nil = it goes on
}

// StagedPart is a part of an upload.
type StagedPart struct {
	Offset int64
	Data   []byte
	Sealed bool
}

// BlobReader reads a finished large value. Safe for concurrent use; it takes the memory
// of two parts.
type BlobReader interface {
	io.ReaderAt
	io.Closer
	Size() int64
	Info() BlobInfo
}

// BlobUsage is what all large values take.
type BlobUsage struct {
	Values  int   // that are finished
	Bytes   int64 // that those take, each once
	Uploads int   // that are on their way
	Staged  int64 // bytes that those take
}

// BlobSweep is what a sweep has removed.
type BlobSweep struct {
	Files int
	Bytes int64
	Refs  int // of runs that are not there
}

// BlobOffsetError says where an upload goes on.
type BlobOffsetError struct {
	Offset int64 // that was asked for
	Size   int64 // the end of what is there
	Border int64 // the nearest begin of a part, or the end, at or below Offset
}

func (e *BlobOffsetError) Error() string {
	if e.Offset > e.Size {
		return fmt.Sprintf("a part at %d leaves a hole: %d bytes are there", e.Offset, e.Size)
	}
	return fmt.Sprintf("a part at %d begins inside another one: go on at %d or at %d", e.Offset, e.Border, e.Size)
}

// Is matches ErrBlobOffset.
func (e *BlobOffsetError) Is(target error) bool { return target == ErrBlobOffset }

// BlobDamage says which part of a large value is not what was written. Nothing is ever
// repaired by itself.
type BlobDamage struct {
	Run    string // "" = of no run in particular
	Upload string // as the writer named it; "" = not known
	Digest string // "" = it was not finished
	File   string
	Part   int   // from 1; 0 = of the file as a whole
	Offset int64 // of the part, in the file
	Detail string
}

func (e *BlobDamage) Error() string {
	var text strings.Builder
	fmt.Fprintf(&text, "large value %s", e.Digest)
	if e.Run != "" {
		fmt.Fprintf(&text, " of run %s", e.Run)
	}
	if step := UploadStep(e.Upload); step != "" {
		fmt.Fprintf(&text, ", step %s", step)
	}
	fmt.Fprintf(&text, " is damaged: file %s", e.File)
	if e.Part > 0 {
		fmt.Fprintf(&text, ", part %d at offset %d", e.Part, e.Offset)
	}
	return text.String() + ": " + e.Detail
}

// Is matches ErrCorrupt.
func (e *BlobDamage) Is(target error) bool { return target == ErrCorrupt }

// uploadSeparator stands between the parts of an upload's name.
const uploadSeparator = "\n"

// UploadPrefix begins the names of all uploads of one call: step is for people, call tells
// one call of a run from all others.
func UploadPrefix(step, call string) string {
	const longest = 200
	if len(step) > longest {
		step = step[:longest]
	}
	return strings.ReplaceAll(step, uploadSeparator, " ") + uploadSeparator + call + uploadSeparator
}

// UploadStep is the step in the name of an upload; "" for one of another making.
func UploadStep(upload string) string {
	step, _, ok := strings.Cut(upload, uploadSeparator)
	if !ok {
		return ""
	}
	return step
}

// handOver is how long the run of a value may be created after the value was handed to it.
const handOver = time.Hour

// MayBeCreated reports whether a run that is not there may still come: its id is young. nil
// = there is no clock, and it may.
func MayBeCreated(run string, now func() time.Time) bool {
	return now == nil || now().Sub(AcceptedAt(run)) < handOver
}

// blobDigestPrefix names the hash.
const blobDigestPrefix = "sha256:"

// BlobDigest writes a digest as references have it.
func BlobDigest(sum []byte) string { return blobDigestPrefix + hex.EncodeToString(sum) }

// ParseBlobDigest reads a digest. ErrBlobDigest.
func ParseBlobDigest(digest string) ([]byte, error) {
	text, ok := strings.CutPrefix(digest, blobDigestPrefix)
	sum, err := hex.DecodeString(text)
	if !ok || err != nil || len(sum) != sha256.Size || hex.EncodeToString(sum) != text {
		return nil, ErrBlobDigest
	}
	return sum, nil
}

// CheckBlobPart refuses what is too large for a part.
func CheckBlobPart(upload string, part, note []byte) error {
	switch {
	case upload == "" || len(upload) > MaxUploadName:
		return fmt.Errorf("%w: the name of an upload has 1 to %d bytes", ErrBlobPart, MaxUploadName)
	case len(part) > MaxBlobPart:
		return fmt.Errorf("%w: it has %d bytes, allowed are %d", ErrBlobPart, len(part), MaxBlobPart)
	case len(note) > MaxBlobNote:
		return fmt.Errorf("%w: its note has %d bytes, allowed are %d", ErrBlobPart, len(note), MaxBlobNote)
	}
	return nil
}

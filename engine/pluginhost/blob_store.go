package pluginhost

import (
	"fmt"
	"io"

	"github.com/flowrun/flowrun/engine/quota"
)

// BlobStore keeps large values of runs, sealed where they must be, within the quotas. Its
// errors are *BlobRefusal, *BlobQuotaError, *runs.Error for what the call shall fail with,
// else those of the host.
type BlobStore interface {
	// StageBlob tells how far an upload has come; the zero BlobStage for one that is not
	// known.
	StageBlob(call BlobCall, upload string) (BlobStage, error)
	// AppendBlob adds a part, durable when it returns.
	AppendBlob(call BlobCall, upload string, part BlobPart) error
	// StagedParts returns the parts of an upload that hold the last length bytes before
	// offset.
	StagedParts(call BlobCall, upload string, offset, length int64) ([]BlobPart, error)
	// FinishBlob ends an upload; one that has ended already gives the same.
	FinishBlob(call BlobCall, upload string) (Blob, error)
	// OpenBlob reads a value that the run has a reference to.
	OpenBlob(call BlobCall, digest string) (BlobReader, error)
	// EndBlobs takes away what the uploads of a call have left, but for the values in keep.
	EndBlobs(call BlobCall, keep []string) error
}

// BlobCall names a call to the BlobStore: an attempt that is made again has the same name.
type BlobCall struct {
	Run  string
	Step string // for people
	ID   string // tells the call from all others of the run
}

// BlobPart is a part of a large value.
type BlobPart struct {
	Offset int64
	Data   []byte
	Note   []byte // nil = the one before stays
	Sealed bool
}

// BlobStage is how far an upload has come.
type BlobStage struct {
	Size     int64
	Note     []byte
	Finished *Blob // nil = it goes on
}

// Blob is a finished large value.
type Blob struct {
	Digest string
	Size   int64
}

// BlobReader reads a large value. Safe for concurrent use.
type BlobReader interface {
	io.ReaderAt
	io.Closer
	Size() int64
}

// BlobRefusal says what a plugin did wrong with a large value: it is told so.
type BlobRefusal struct{ Text string }

func (e *BlobRefusal) Error() string { return e.Text }

// BlobQuotaError says that a value, or all of its run, would be larger than allowed.
type BlobQuotaError struct {
	Quota string // quota.Blob or quota.Blobs
	Size  int64  // that it would have
	Limit int64
}

func (e *BlobQuotaError) Error() string {
	if e.Quota == quota.Blobs {
		return fmt.Sprintf("the large values of the run would take %d bytes, the limit is %d", e.Size, e.Limit)
	}
	return fmt.Sprintf("the large value would have %d bytes, the limit is %d", e.Size, e.Limit)
}

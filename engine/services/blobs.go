package services

import (
	"errors"
	"fmt"
	"syscall"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/pluginhost"
	"github.com/flowrun/flowrun/engine/quota"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/store"
)

// Blobs returns the large values of the open store, whose sealed parts open. ErrNoStore.
func (s *Services) Blobs() (store.Blobs, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.blobs == nil {
		return nil, ErrNoStore
	}
	return s.blobs, nil
}

// AttachBlobs gives the services the large values of their store, after Attach.
func (s *Services) AttachBlobs(keeper store.BlobKeeper) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var sealer store.BlobSealer
	if s.opaque != nil {
		sealer = s.opaque
	}
	s.blobs = keeper.Blobs(sealer)
}

// BlobStore returns what keeps the large values of calls (pluginhost.BlobStore).
func (s *Services) BlobStore() pluginhost.BlobStore { return blobStore{s} }

// blobStore keeps large values for plugins.
type blobStore struct{ services *Services }

func uploadName(call pluginhost.BlobCall, upload string) string {
	return store.UploadPrefix(call.Step, call.ID) + upload
}

// StageBlob is that of pluginhost.BlobStore.
func (b blobStore) StageBlob(call pluginhost.BlobCall, upload string) (pluginhost.BlobStage, error) {
	blobs, err := b.services.Blobs()
	if err != nil {
		return pluginhost.BlobStage{}, err
	}
	stage, err := blobs.StageBlob(call.Run, uploadName(call, upload))
	if err != nil {
		return pluginhost.BlobStage{}, blobFailure(err)
	}
	staged := pluginhost.BlobStage{Size: stage.Size, Note: stage.Note}
	if stage.Finished != nil {
		staged.Finished = &pluginhost.Blob{Digest: stage.Finished.Digest, Size: stage.Finished.Size}
	}
	return staged, nil
}

// AppendBlob is that of pluginhost.BlobStore.
func (b blobStore) AppendBlob(call pluginhost.BlobCall, upload string, part pluginhost.BlobPart) error {
	blobs, err := b.services.Blobs()
	if err != nil {
		return err
	}
	stage, err := blobs.StageBlob(call.Run, uploadName(call, upload))
	if err != nil {
		return blobFailure(err)
	}
	if part.Offset > stage.Size {
		return blobFailure(&store.BlobOffsetError{Offset: part.Offset, Size: stage.Size, Border: stage.Size})
	}
	quotas := b.services.options.Quotas
	if size, limit := part.Offset+int64(len(part.Data)), quotas.Of(quota.Blob); size > limit {
		return &pluginhost.BlobQuotaError{Quota: quota.Blob, Size: size, Limit: limit}
	}
	total, err := blobs.BlobBytes(call.Run)
	if err != nil {
		return blobFailure(err)
	}
	if total, limit := total+int64(len(part.Data)), quotas.Of(quota.Blobs); total > limit {
		return &pluginhost.BlobQuotaError{Quota: quota.Blobs, Size: total, Limit: limit}
	}
	return blobFailure(blobs.AppendBlob(call.Run, uploadName(call, upload), part.Offset, part.Data, part.Sealed, part.Note))
}

// StagedParts is that of pluginhost.BlobStore.
func (b blobStore) StagedParts(call pluginhost.BlobCall, upload string, offset, length int64) (parts []pluginhost.BlobPart, err error) {
	blobs, err := b.services.Blobs()
	if err != nil {
		return nil, err
	}
	staged, err := blobs.StagedParts(call.Run, uploadName(call, upload), offset, length)
	for _, part := range staged {
		parts = append(parts, pluginhost.BlobPart{Offset: part.Offset, Data: part.Data, Sealed: part.Sealed})
	}
	return parts, blobFailure(err)
}

// FinishBlob is that of pluginhost.BlobStore.
func (b blobStore) FinishBlob(call pluginhost.BlobCall, upload string) (pluginhost.Blob, error) {
	blobs, err := b.services.Blobs()
	if err != nil {
		return pluginhost.Blob{}, err
	}
	info, err := blobs.FinishBlob(call.Run, uploadName(call, upload))
	return pluginhost.Blob{Digest: info.Digest, Size: info.Size}, blobFailure(err)
}

// OpenBlob is that of pluginhost.BlobStore.
func (b blobStore) OpenBlob(call pluginhost.BlobCall, digest string) (pluginhost.BlobReader, error) {
	blobs, err := b.services.Blobs()
	if err != nil {
		return nil, err
	}
	reader, err := blobs.OpenBlob(call.Run, digest)
	if err != nil {
		return nil, blobFailure(err)
	}
	return toldReader{reader}, nil
}

// EndBlobs is that of pluginhost.BlobStore. A call outside of a run has left nothing: the
// store takes large values of runs alone.
func (b blobStore) EndBlobs(call pluginhost.BlobCall, keep []string) error {
	blobs, err := b.services.Blobs()
	if err != nil {
		return err
	}
	if err := blobs.DropUploads(call.Run, store.UploadPrefix(call.Step, call.ID), keep); !errors.Is(err, store.ErrRunNotFound) {
		return err
	}
	return nil
}

// toldReader says what is wrong with a part as a call's failure has it.
type toldReader struct{ store.BlobReader }

func (r toldReader) ReadAt(p []byte, offset int64) (int, error) {
	n, err := r.BlobReader.ReadAt(p, offset)
	return n, blobFailure(err)
}

// blobFailure is an error of the store as a plugin, and the run, hear it: what the plugin
// did wrong, what the call fails with, or the error as it is.
func blobFailure(err error) error {
	damage := new(store.BlobDamage)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, store.ErrBlobOffset), errors.Is(err, store.ErrBlobPart), errors.Is(err, store.ErrBlobTooMany), errors.Is(err, store.ErrBlobFinished),
		errors.Is(err, store.ErrBlobUnknown), errors.Is(err, store.ErrBlobNotFound), errors.Is(err, store.ErrBlobDigest), errors.Is(err, store.ErrRunEnded), errors.Is(err, store.ErrRunNotFound):
		return &pluginhost.BlobRefusal{Text: err.Error()}
	case errors.As(err, &damage):
		failure := runs.Failure(plan.KindInternal, runs.AppliedUnknown, "%v", err)
		failure.Hint = diag.Sayf("the disk has lost it: %s says what else, and a run from the step that made it makes it anew", diag.Command{"db", "check"})
		return failure
	case errors.Is(err, store.ErrPressure), errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		failure := runs.Failure(plan.KindUnavailable, runs.AppliedUnknown, "%v", err)
		failure.Hint = diag.Say("make room on the disk of the state folder; what was sent of the large value is kept, and the next attempt goes on there")
		return failure
	case errors.Is(err, store.ErrBlobFile):
		return runs.Failure(plan.KindInternal, runs.AppliedUnknown, "%v", err)
	}
	return fmt.Errorf("large value: %w", err)
}

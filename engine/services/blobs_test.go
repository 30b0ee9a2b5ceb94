package services

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/flowrun/flowrun/engine/memstore"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/pluginhost"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/store"
	"github.com/flowrun/flowrun/engine/storetest"
)

// TestWhatTheStoreSaysOfLargeValuesIsHeard: what a plugin did wrong goes to the plugin, what
// the machine lacks fails the call so that it is tried again, damage names where it is.
func TestWhatTheStoreSaysOfLargeValuesIsHeard(t *testing.T) {
	disk := func(cause error) error {
		return fmt.Errorf("write a large value of run x: %w: %w", store.ErrBlobFile, &os.PathError{Op: "write", Path: "/s/flowrun.db.blobs/ab", Err: cause})
	}
	for name, c := range map[string]struct {
		err  error
		kind plan.ErrorKind // "" = a refusal
		says string
	}{
		"an offset":    {&store.BlobOffsetError{Offset: 3, Size: 5}, "", "go on at 0 or at 5"},
		"another run":  {store.ErrBlobNotFound, "", "no such large value"},
		"a full disk":  {disk(syscall.ENOSPC), plan.KindUnavailable, "no space left"},
		"pressure":     {fmt.Errorf("no part is taken: 1 MiB is free: %w", store.ErrPressure), plan.KindUnavailable, "1 MiB is free"},
		"a bad disk":   {disk(syscall.EIO), plan.KindInternal, "/s/flowrun.db.blobs/ab"},
		"damage":       {&store.BlobDamage{Run: "r", Upload: store.UploadPrefix("fetch", "c") + "u", Digest: "sha256:0", File: "/f", Part: 2, Offset: 99, Detail: "d"}, plan.KindInternal, "step fetch is damaged: file /f, part 2 at offset 99"},
		"the control":  {io.EOF, "-", "EOF"},
		"nothing":      {nil, "-", ""},
		"a closed run": {fmt.Errorf("run r has ended: %w", store.ErrRunEnded), "", "has ended"},
	} {
		got := blobFailure(c.err)
		refusal, failure := new(pluginhost.BlobRefusal), new(runs.Error)
		switch c.kind {
		case "":
			if !errors.As(got, &refusal) || !strings.Contains(refusal.Text, c.says) {
				t.Errorf("%s: %v", name, got)
			}
		case "-":
			if !errors.Is(got, c.err) || errors.As(got, &refusal) || errors.As(got, &failure) {
				t.Errorf("%s: %v", name, got)
			}
		default:
			if !errors.As(got, &failure) || failure.Kind != c.kind || !strings.Contains(failure.Message, c.says) {
				t.Errorf("%s: %+v", name, got)
			}
		}
	}
}

// TestWithoutAStoreThereAreNoLargeValues: every call says so.
func TestWithoutAStoreThereAreNoLargeValues(t *testing.T) {
	s := New(Options{})
	if _, err := s.BlobStore().StageBlob(pluginhost.BlobCall{Run: storetest.ID(1), Step: "a", ID: "c"}, "u"); !errors.Is(err, ErrNoStore) {
		t.Error(err)
	}
	given := memstore.New(memstore.Options{})
	s.AttachBlobs(given)
	if _, err := s.BlobStore().StageBlob(pluginhost.BlobCall{Run: storetest.ID(1), Step: "a", ID: "c"}, "u"); err != nil {
		t.Error(err)
	}
	s.Detach()
	if err := s.BlobStore().EndBlobs(pluginhost.BlobCall{Run: storetest.ID(1)}, nil); !errors.Is(err, ErrNoStore) {
		t.Error(err)
	}
}

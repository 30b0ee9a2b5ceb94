package workspace

import (
	"encoding/json"
	"fmt"
	"regexp"
	"sync"

	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/store"
)

// blobDigests finds what may be digests of large values in a document.
var blobDigests = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`"(sha256:[0-9a-f]{64})"`) })

// keepBlobs puts the large values of a mocked answer into the store, as the plugin would
// have done.
func (c mockedCaller) keepBlobs(answers *mocks, request runs.Request, output json.RawMessage) error {
	for _, found := range blobDigests().FindAllSubmatch(output, -1) {
		digest := string(found[1])
		text, ok := answers.Blob(digest)
		if !ok {
			continue
		}
		blobs, err := c.project.services.Blobs()
		if err != nil {
			return err
		}
		upload := store.UploadPrefix(request.Step, request.IdempotencyKey) + digest
		if _, err := blobs.BlobInfo(request.RunID, digest); err == nil {
			continue // of another answer
		}
		for offset := 0; offset == 0 || offset < len(text); offset += store.MaxBlobPart {
			part := text[offset:min(offset+store.MaxBlobPart, len(text))]
			if err := blobs.AppendBlob(request.RunID, upload, int64(offset), []byte(part), false, nil); err != nil {
				return err
			}
		}
		kept, err := blobs.FinishBlob(request.RunID, upload)
		if err == nil && kept.Digest != digest {
			err = fmt.Errorf("its digest is %s", kept.Digest)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

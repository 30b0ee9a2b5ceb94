package store

import (
	"bytes"
	"errors"
)

// HandOn lets a run refer to the large values of another run that a document speaks of:
// the inputs or outputs that pass from one to the other. A digest that the other run has no
// value of is a text like others. The run that they go to need not exist yet.
func HandOn(blobs Blobs, from, to string, document []byte) error {
	if len(document) == 0 || from == to {
		return nil
	}
	seen := map[string]bool{}
	const hexDigits = 64
	for rest := document; ; {
		at := bytes.Index(rest, []byte(`"`+blobDigestPrefix))
		if at < 0 {
			return nil
		}
		rest = rest[at+1:]
		end := len(blobDigestPrefix) + hexDigits
		if len(rest) <= end || rest[end] != '"' {
			continue
		}
		digest := string(rest[:end])
		if _, err := ParseBlobDigest(digest); err != nil || seen[digest] {
			continue
		}
		seen[digest] = true
		if err := blobs.ShareBlob(from, to, digest); err != nil && !errors.Is(err, ErrBlobNotFound) {
			return err
		}
	}
}

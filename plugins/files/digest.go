package files

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
)

// digest is the sha256 of bytes in hex.
func digest(raw []byte) string {
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:])
}

// digestOf is digest of what a reader gives.
func digestOf(from io.Reader) (string, error) {
	sum := sha256.New()
	if _, err := io.Copy(sum, from); err != nil {
		return "", err
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

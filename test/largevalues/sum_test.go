package largevalues

import (
	"crypto/sha256"
	"encoding/hex"
)

// fullSumOf is the SHA-256 of a text in hex.
func fullSumOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// sumOf is its begin, as the raw plugin tells it.
func sumOf(text string) string { return fullSumOf(text)[:8] }

package taskssim

import (
	"crypto/sha256"
	"encoding/base32"
	"encoding/binary"
)

// textID makes an id of base32 signs.
func textID(of string) string {
	sum := sha256.Sum256([]byte("id " + of))
	return base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(sum[:10])
}

// bigID makes an id above 2^53, which no float64 can hold.
func bigID(of string) int64 {
	sum := sha256.Sum256([]byte("id " + of))
	return 1<<53 + 1 + 2*int64(binary.BigEndian.Uint32(sum[:4]))
}

package secret

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// KeySize is the length of a master key in bytes.
const KeySize = 32

// ErrBadKey says that a key file does not hold a key.
var ErrBadKey = errors.New("is damaged")

// Buckets are the buckets whose rows this package seals.
func Buckets() []string { return []string{tokensBucket, storedBucket, vaultBucket} }

// KeyFile returns the master key that a file holds, 64 hex digits, and creates
// the file with mode 0600 where it is absent. A file that others may read is
// refused. Losing the file means losing all that was sealed with it: it is not
// part of a backup of the store.
func KeyFile(path string, entropy io.Reader) ([]byte, error) {
	if err := createKeyFile(path, entropy); err != nil {
		return nil, fmt.Errorf("create key file %s: %w", path, err)
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("key file: %w", err)
	}
	if mode := info.Mode().Perm(); mode&0o077 != 0 {
		return nil, fmt.Errorf("key file %s has mode %04o, others may read it: make it 0600", path, mode)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("key file: %w", err)
	}
	key, err := hex.DecodeString(string(bytes.TrimSpace(content)))
	if err != nil || len(key) != KeySize {
		return nil, fmt.Errorf("key file %s %w: it should hold %d hex digits", path, ErrBadKey, 2*KeySize)
	}
	return key, nil
}

// createKeyFile does nothing when the file exists. An empty one is what a crash
// between creation and writing left: nothing was ever sealed with it.
func createKeyFile(path string, entropy io.Reader) error {
	if info, err := os.Stat(path); err == nil && info.Size() > 0 {
		return nil
	} else if err == nil {
		return writeKey(path, os.O_WRONLY, entropy)
	}
	err := writeKey(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, entropy)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	return err
}

func writeKey(path string, flag int, entropy io.Reader) (err error) {
	file, err := os.OpenFile(path, flag, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	key := make([]byte, KeySize)
	if _, err := io.ReadFull(entropy, key); err != nil {
		return fmt.Errorf("read entropy: %w", err)
	}
	if _, err := file.WriteString(hex.EncodeToString(key) + "\n"); err != nil {
		return err
	}
	if err := file.Sync(); err != nil {
		return err
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer dir.Close()
	return dir.Sync()
}

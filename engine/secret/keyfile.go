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
func Buckets() []string { return []string{tokensBucket, StoredBucket, vaultBucket, opaqueBucket} }

// KeyFile returns the master keys that a file holds, one a line of 64 hex digits,
// the newest first, and creates the file with one key and mode 0600 where it is
// absent. Two keys are there while a rotation goes on. A file that others may
// read is refused. Losing the file means losing all that was sealed with it: it
// is not part of a backup of the store.
func KeyFile(path string, entropy io.Reader) ([][]byte, error) {
	if err := createKeyFile(path, entropy); err != nil {
		return nil, fmt.Errorf("create key file %s: %w", path, err)
	}
	return readKeys(path)
}

// readKeys is KeyFile for a file that must be there.
func readKeys(path string) ([][]byte, error) {
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
	ring, ok := parseKeys(content)
	if !ok {
		return nil, fmt.Errorf("key file %s %w: it should hold %d hex digits", path, ErrBadKey, 2*KeySize)
	}
	return ring, nil
}

// maxKeys is how many keys a file may hold.
const maxKeys = 16

func parseKeys(content []byte) (ring [][]byte, ok bool) {
	for _, line := range bytes.Fields(content) {
		key, err := hex.DecodeString(string(line))
		if err != nil || len(key) != KeySize || len(ring) == maxKeys {
			return nil, false
		}
		ring = append(ring, key)
	}
	return ring, len(ring) > 0
}

func formatKeys(ring [][]byte) []byte {
	var content []byte
	for _, key := range ring {
		content = append(hex.AppendEncode(content, key), '\n')
	}
	return content
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

func writeKey(path string, flag int, entropy io.Reader) error {
	key := make([]byte, KeySize)
	if _, err := io.ReadFull(entropy, key); err != nil {
		return fmt.Errorf("read entropy: %w", err)
	}
	if err := writeSynced(path, flag, formatKeys([][]byte{key})); err != nil {
		return err
	}
	return syncFolder(path)
}

// replaceKeys puts another content in the place of a key file in one step: a
// crash leaves the old one or the new one.
func replaceKeys(path string, ring [][]byte) error {
	temporary := path + ".new"
	if err := os.Remove(temporary); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err // else it is what a rotation left that died
	}
	if err := writeSynced(temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL, formatKeys(ring)); err != nil {
		return err
	}
	if err := os.Rename(temporary, path); err != nil {
		return err
	}
	return syncFolder(path)
}

func writeSynced(path string, flag int, content []byte) (err error) {
	file, err := os.OpenFile(path, flag, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if _, err := file.Write(content); err != nil {
		return err
	}
	return file.Sync()
}

// syncFolder makes the name of a new file durable.
func syncFolder(path string) error {
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer dir.Close()
	return dir.Sync()
}

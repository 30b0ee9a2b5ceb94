package boltstore

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	bolt "github.com/flowrun/flowrun/engine/boltstore/sealedpages"
	"github.com/flowrun/flowrun/engine/store"
)

// sidecarSuffix is appended to a backup's path: the file with its checksum.
const sidecarSuffix = ".sha256"

// Backup is that of store.File.
func (s *Store) Backup(ctx context.Context, path string) (*store.BackupInfo, error) {
	info, err := s.backup(ctx, path)
	if err != nil {
		return nil, fmt.Errorf("back up store %s to %s: %w", s.path, path, err)
	}
	return info, nil
}

func (s *Store) backup(ctx context.Context, path string) (*store.BackupInfo, error) {
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		if err == nil {
			err = store.ErrExists
		}
		return nil, err
	}
	info := &store.BackupInfo{Path: path, Schema: schemaVersion}
	if s.options.Now != nil {
		info.At = s.options.Now().UTC()
	}
	defer s.large.hold()() // what the copy refers to is there until it has it, too
	temporary, err := s.writeCopy(ctx, path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.Remove(temporary) }()
	if err := editFile(temporary, s.options, func(w *writer) error {
		if err := dropOpenUploads(w); err != nil {
			return err
		}
		return w.put(bucketMeta, keySavedAt, []byte(info.At.Format(time.RFC3339Nano)))
	}); err != nil {
		return nil, err
	}
	if err := checkWhole(ctx, temporary); err != nil {
		return nil, err
	}
	if info.SHA256, info.Bytes, err = hashFile(ctx, temporary); err != nil {
		return nil, err
	}
	var drop func()
	if info.LargeValues, info.LargeBytes, drop, err = s.backUpLarge(ctx, temporary, path); err != nil {
		return nil, err
	}
	if err := writeSidecar(path, info.SHA256); err != nil {
		drop()
		return nil, err
	}
	if err := publish(temporary, path); err != nil {
		drop()
		return nil, err
	}
	return info, syncDir(filepath.Dir(path))
}

// writeCopy writes what a read transaction sees to a file beside path, with a
// name of its own.
func (s *Store) writeCopy(ctx context.Context, path string) (temporary string, err error) {
	file, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return "", err
	}
	err = s.view(func(tx *bolt.Tx) error {
		_, err := tx.WriteTo(&contextWriter{ctx: ctx, to: file})
		return err
	})
	if err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err != nil {
		_ = os.Remove(file.Name())
		return "", err
	}
	return file.Name(), nil
}

// contextWriter ends a long copy with its context.
type contextWriter struct {
	ctx context.Context
	to  io.Writer
}

func (w *contextWriter) Write(p []byte) (int, error) {
	if err := w.ctx.Err(); err != nil {
		return 0, err
	}
	return w.to.Write(p)
}

// publish gives a file its name, and never takes that of another.
func publish(temporary, path string) error {
	switch err := os.Link(temporary, path); {
	case err == nil:
		return nil
	case errors.Is(err, fs.ErrExist):
		return store.ErrExists
	}
	// A file system without links: the name was free a moment ago.
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return store.ErrExists
	}
	return os.Rename(temporary, path)
}

// checkWhole refuses a file with problems. The files of large values are not read: they are
// those of the store.
func checkWhole(ctx context.Context, path string) error {
	report, err := CheckFile(ctx, path, Options{rowsOnly: true})
	if err != nil {
		return err
	}
	return report.Err()
}

func hashFile(ctx context.Context, path string) (sum string, size int64, err error) {
	file, err := os.Open(path)
	if err != nil {
		return "", 0, err
	}
	defer file.Close()
	hash := sha256.New()
	if size, err = io.Copy(&contextWriter{ctx: ctx, to: hash}, file); err != nil {
		return "", 0, err
	}
	return hex.EncodeToString(hash.Sum(nil)), size, nil
}

// writeSidecar writes PATH.sha256 before the file appears: a backup is never
// without one.
func writeSidecar(path, sum string) error {
	temporary := path + sidecarSuffix + ".new"
	file, err := os.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(file, "%s  %s\n", sum, filepath.Base(path))
	if err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err != nil {
		_ = os.Remove(temporary)
		return err
	}
	return os.Rename(temporary, path+sidecarSuffix)
}

// readSidecar returns the checksum that stands beside a backup; "" without one.
func readSidecar(path string) (string, error) {
	data, err := os.ReadFile(path + sidecarSuffix)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	sum, _, _ := strings.Cut(strings.TrimSpace(string(data)), " ")
	if _, ok := decodeHash(sum); !ok {
		return "", fmt.Errorf("%s holds no SHA-256", path+sidecarSuffix)
	}
	return sum, nil
}

// editFile changes a file that no engine has open, and closes it as whole.
func editFile(path string, o Options, edit func(w *writer) error) error {
	s, err := openOffline(path, Options{MaxSize: o.MaxSize, InitialMmapSize: 1 << 15, walks: true, Hooks: store.Hooks{Now: o.Now}}.withDefaults())
	if err != nil {
		return err
	}
	err = s.update(func(w *writer) error {
		if err := edit(w); err != nil {
			return err
		}
		return w.finish(censusClosed)
	})
	if _, copied := s.Migrated(); copied != "" {
		_ = os.Remove(copied) // the file itself is a copy
	}
	if err = errors.Join(err, s.db.Close()); err != nil {
		return err
	}
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return errors.Join(file.Sync(), file.Close())
}

func getEpoch(tx *bolt.Tx) (uint64, error) {
	stored, err := getSealed(tx.Bucket(bucketMeta), bucketMeta, keyEpoch)
	if err != nil || stored == nil {
		return 0, err
	}
	if len(stored) != 8 {
		return 0, &store.CorruptError{Bucket: string(bucketMeta), Key: hexKey(keyEpoch), Detail: "no epoch"}
	}
	return binary.BigEndian.Uint64(stored), nil
}

// Epoch is that of store.Triggers.
func (s *Store) Epoch() (epoch uint64, err error) {
	err = s.view(func(tx *bolt.Tx) error {
		epoch, err = getEpoch(tx)
		return err
	})
	return epoch, err
}

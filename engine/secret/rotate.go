package secret

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/flowrun/flowrun/engine/order"
)

// RewriteKV is a KV whose values can be exchanged in their places, in one
// transaction and without new versions (store.KV.Rewrite).
type RewriteKV interface {
	KV
	Rewrite(bucket, after string, limit int, change func(key string, value []byte) ([]byte, error)) (last string, rewritten int, err error)
}

// Rotation is what an exchange of the master key needs.
type Rotation struct {
	Path    string // of the key file
	KV      RewriteKV
	Sealer  *Sealer  // of the process that owns the rows: it has the new key from the first step on
	Buckets []string // all that the Sealer has sealed
	Entropy io.Reader
	Now     time.Time // names the file that keeps the old key
	// Reached is called with "before" and "after" around each step that is durable
	// on its own and is no transaction: fault suites end the process there. nil =
	// none.
	Reached func(stage string)
}

// Rotated tells of a finished rotation.
type Rotated struct {
	Values    int    // that were sealed anew
	Continued bool   // it was begun before, and interrupted
	OldKey    string // the file that keeps the old key
	// Removed are the files of still older keys, beyond the newest keptKeys: a
	// backup that needs one of them is older than that many rotations.
	Removed []string
}

// keptKeys is how many old keys are kept in files of their own.
const keptKeys = 3

// keptName is the name of a file that keepOld wrote, without what the key file's
// own name is: others that lie there are the user's.
var keptName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\.([0-9]{8}T[0-9]{6}Z)(?:-[0-9]+)?\.bak$`) })

// Place is where a sealed value lies.
type Place struct{ Bucket, Key string }

// LostError says which values no key opens, so that the keys can't be exchanged.
type LostError struct{ Places []Place }

func (e *LostError) Error() string {
	return fmt.Sprintf("%d sealed values can't be opened with the key file", len(e.Places))
}

// rewriteRows is how many rows one transaction of a rotation seals anew.
const rewriteRows = 256

// Rotate puts a new master key in the place of the old one and seals every value
// anew. A crash at any moment leaves a key file that opens every value, and the
// next Rotate goes on there:
//
//  1. the key file holds the new key and the old one;
//  2. the rows are sealed with the new key, some hundreds a transaction;
//  3. the old key is kept in a file of its own, beside;
//  4. the key file holds the new key alone.
//
// The key file is asked, not the memory: one that does not open the values is
// refused before anything changes. It must not run twice at a time, and nobody else may have the rows. Errors:
// *LostError, before anything is changed; those of the files and of the store.
func Rotate(ctx context.Context, r Rotation) (*Rotated, error) {
	ring, err := r.checkedRing(ctx)
	if err != nil {
		return nil, err
	}
	if err := r.Sealer.use(ring); err != nil {
		return nil, err
	}
	done := &Rotated{Continued: len(ring) > 1}
	if !done.Continued {
		if ring, err = r.begin(ring); err != nil {
			return nil, fmt.Errorf("begin with a new key: %w", err)
		}
	}
	if done.Values, err = r.resealAll(ctx); err != nil {
		return nil, fmt.Errorf("seal anew: %w", err)
	}
	if done.OldKey, err = r.keepOld(ring[1:]); err != nil {
		return nil, fmt.Errorf("keep the old key: %w", err)
	}
	r.reached("before")
	if err := replaceKeys(r.Path, ring[:1]); err != nil {
		return nil, fmt.Errorf("take the old key out of %s: %w", r.Path, err)
	}
	r.reached("after")
	done.Removed = r.removeOlder()
	return done, r.Sealer.use(ring[:1])
}

// checkedRing returns the keys of the file when they open every value. The
// sealer in use is not touched: should the file be another one than it was, the
// right key is in memory alone.
func (r *Rotation) checkedRing(ctx context.Context) ([][]byte, error) {
	ring, err := readKeys(r.Path)
	if err != nil {
		return nil, err
	}
	ofFile, err := NewSealer(ring[0], r.Entropy, ring[1:]...)
	if err != nil {
		return nil, err
	}
	lost, _, err := CheckSealed(ctx, r.KV, ofFile, r.Buckets)
	if err != nil {
		return nil, err
	}
	if len(lost) > 0 {
		return nil, &LostError{Places: lost}
	}
	return ring, nil
}

func (r *Rotation) reached(stage string) {
	if r.Reached != nil {
		r.Reached(stage)
	}
}

// begin makes the new key durable beside the old ones, before anything is sealed
// with it.
func (r *Rotation) begin(ring [][]byte) ([][]byte, error) {
	key := make([]byte, KeySize)
	if _, err := io.ReadFull(r.Entropy, key); err != nil {
		return nil, fmt.Errorf("read entropy: %w", err)
	}
	ring = append([][]byte{key}, ring...)
	r.reached("before")
	if err := replaceKeys(r.Path, ring); err != nil {
		return nil, err
	}
	r.reached("after")
	return ring, r.Sealer.use(ring)
}

// resealAll walks the rows until a walk finds none of an older key.
func (r *Rotation) resealAll(ctx context.Context) (values int, err error) {
	for {
		changed := 0
		for _, bucket := range r.Buckets {
			rewritten, err := r.reseal(ctx, bucket)
			if err != nil {
				return values, err
			}
			changed += rewritten
		}
		if changed == 0 {
			return values, nil
		}
		values += changed
	}
}

func (r *Rotation) reseal(ctx context.Context, bucket string) (rewritten int, err error) {
	for after := ""; ; {
		if err := ctx.Err(); err != nil {
			return rewritten, fmt.Errorf("interrupted, `flowrun key rotate` goes on: %w", err)
		}
		last, changed, err := r.KV.Rewrite(bucket, after, rewriteRows, func(key string, sealed []byte) ([]byte, error) {
			// The ring is not asked for: nobody but this rotation changes it, and a
			// writer that waits for the committer may hold it.
			clear, newest, err := r.Sealer.open(bucket, key, sealed)
			if err != nil || newest {
				return nil, err
			}
			return r.Sealer.seal(bucket, key, clear)
		})
		if err != nil {
			return rewritten, err
		}
		rewritten += changed
		if after = last; after == "" {
			return rewritten, nil
		}
	}
}

// keepOld writes the old keys into a file of their own: backups that were made
// before are sealed with them. A rotation that was interrupted after this step
// finds its file.
func (r *Rotation) keepOld(older [][]byte) (path string, err error) {
	content := formatKeys(older)
	kept, err := filepath.Glob(r.Path + ".*.bak")
	if err != nil {
		return "", err
	}
	for _, path := range kept {
		if stored, err := os.ReadFile(path); err == nil && bytes.Equal(stored, content) {
			return path, nil
		}
	}
	stamp := r.Path + "." + r.Now.UTC().Format("20060102T150405Z")
	for n := 1; ; n++ {
		if path = stamp + ".bak"; n > 1 {
			path = fmt.Sprintf("%s-%d.bak", stamp, n)
		}
		r.reached("before")
		err := writeSynced(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, content)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err == nil {
			err = syncFolder(path)
		}
		r.reached("after")
		return path, err
	}
}

// removeOlder removes the files of old keys but for the newest. One that stays
// because it can't be removed is tried again by the next rotation.
func (r *Rotation) removeOlder() []string {
	type kept struct {
		path, stamp string
		written     time.Time // tells those of one second apart
	}
	var all []kept
	paths, _ := filepath.Glob(r.Path + ".*.bak") // the pattern is well formed
	for _, path := range paths {
		name := keptName().FindStringSubmatch(strings.TrimPrefix(path, r.Path))
		if info, err := os.Lstat(path); name != nil && err == nil && info.Mode().IsRegular() {
			all = append(all, kept{path, name[1], info.ModTime()})
		}
	}
	order.Sort(all, func(a, b kept) int {
		return cmp.Or(strings.Compare(b.stamp, a.stamp), b.written.Compare(a.written))
	})
	var removed []string
	for _, old := range all[min(keptKeys, len(all)):] {
		if os.Remove(old.path) == nil {
			removed = append(removed, old.path)
		}
	}
	return removed
}

// KeysOf returns how many keys a key file holds: more than one while a rotation
// is not finished.
func KeysOf(path string) (int, error) {
	ring, err := readKeys(path)
	return len(ring), err
}

// CheckKeyFile is CheckSealed with the keys of a file.
func CheckKeyFile(ctx context.Context, kv KV, path string, buckets []string) (lost []Place, values int, err error) {
	ring, err := readKeys(path)
	if err != nil {
		return nil, 0, err
	}
	sealer, err := NewSealer(ring[0], nil, ring[1:]...)
	if err != nil {
		return nil, 0, err
	}
	return CheckSealed(ctx, kv, sealer, buckets)
}

// CheckSealed opens every value with the keys of sealer. lost are those that no key opens, in the order
// of the buckets and their keys; values counts all.
func CheckSealed(ctx context.Context, kv KV, sealer *Sealer, buckets []string) (lost []Place, values int, err error) {
	for _, bucket := range buckets {
		keys, err := kv.List(bucket, "")
		if err != nil {
			return nil, 0, err
		}
		slices.Sort(keys)
		for _, key := range keys {
			if err := ctx.Err(); err != nil {
				return nil, 0, err
			}
			ok, opened, err := checkRow(kv, sealer, bucket, key)
			switch {
			case err != nil:
				return nil, 0, err
			case ok && !opened:
				lost = append(lost, Place{Bucket: bucket, Key: key})
			}
			if ok {
				values++
			}
		}
	}
	return lost, values, nil
}

func checkRow(kv KV, sealer *Sealer, bucket, key string) (ok, opened bool, err error) {
	sealer.ring.RLock()
	defer sealer.ring.RUnlock()
	sealed, _, ok, err := kv.Get(bucket, key)
	if err != nil || !ok {
		return false, false, err // a row that went away meanwhile is none
	}
	_, _, err = sealer.open(bucket, key, sealed)
	if errors.Is(err, ErrUnseal) {
		return true, false, nil
	}
	return true, err == nil, err
}

// PlaceName says what lies in a place of this package's buckets: the kind of the
// value and the name that a person knows it by.
func PlaceName(place Place) (kind, name string) {
	switch place.Bucket {
	case tokensBucket: // 4:work/…: the length lets a name hold anything
		digits, rest, _ := strings.Cut(place.Key, ":")
		if size, err := strconv.Atoi(digits); err == nil && size >= 0 && size <= len(rest) {
			return "login", rest[:size]
		}
		return "login", place.Key
	case opaqueBucket:
		return "data key", place.Key
	case vaultBucket:
		run, _, _ := strings.Cut(strings.TrimPrefix(place.Key, runPrefix), "/")
		return "output", run
	}
	return "secret", place.Key
}

package secret

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"sync"
)

// KV is versioned storage: rows in named buckets. ifVersion nil writes always, 0
// only where there is no row, else only where that is the stored version. Put
// and Delete return after the write is durable.
type KV interface {
	Get(bucket, key string) (value []byte, version uint64, found bool, err error)
	Put(bucket, key string, value []byte, ifVersion *uint64) (version uint64, err error)
	Delete(bucket, key string, ifVersion *uint64) error
	List(bucket, prefix string) ([]string, error)
}

// ErrUnseal says that a sealed value is damaged, was moved to another place, or
// was sealed with another key.
var ErrUnseal = errors.New("sealed value can't be opened: it is damaged or of another key")

// The form of a sealed value: version, nonce, ciphertext with tag.
const (
	sealVersion byte = 1
	nonceSize   int  = 12
)

// Sealer encrypts values with AES-256-GCM. Each bucket has a key of its own by
// HKDF; bucket and key of the row are bound to the value. Safe for concurrent
// use.
type Sealer struct {
	master  []byte
	entropy io.Reader

	mu    sync.Mutex // guards both below: an entropy source need not be safe
	aeads map[string]cipher.AEAD
}

// NewSealer returns a Sealer with a master key of KeySize bytes. entropy gives
// the nonces: crypto/rand.Reader.
func NewSealer(master []byte, entropy io.Reader) (*Sealer, error) {
	if len(master) != KeySize {
		return nil, fmt.Errorf("the key has %d bytes, not %d", len(master), KeySize)
	}
	return &Sealer{master: append([]byte(nil), master...), entropy: entropy, aeads: map[string]cipher.AEAD{}}, nil
}

// Seal encrypts a value for its place.
func (s *Sealer) Seal(bucket, key string, clear []byte) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	aead, err := s.aead(bucket)
	if err != nil {
		return nil, err
	}
	sealed := make([]byte, 1+nonceSize, 1+nonceSize+len(clear)+aead.Overhead())
	sealed[0] = sealVersion
	if _, err := io.ReadFull(s.entropy, sealed[1:]); err != nil {
		return nil, fmt.Errorf("seal: read entropy: %w", err)
	}
	return aead.Seal(sealed, sealed[1:], clear, placeOf(bucket, key)), nil
}

// Open decrypts what Seal made for the same place. ErrUnseal.
func (s *Sealer) Open(bucket, key string, sealed []byte) ([]byte, error) {
	s.mu.Lock()
	aead, err := s.aead(bucket)
	s.mu.Unlock()
	if err != nil {
		return nil, err
	}
	if len(sealed) < 1+nonceSize+aead.Overhead() || sealed[0] != sealVersion {
		return nil, ErrUnseal
	}
	clear, err := aead.Open(nil, sealed[1:1+nonceSize], sealed[1+nonceSize:], placeOf(bucket, key))
	if err != nil {
		return nil, ErrUnseal
	}
	return clear, nil
}

func (s *Sealer) aead(bucket string) (cipher.AEAD, error) {
	if aead := s.aeads[bucket]; aead != nil {
		return aead, nil
	}
	derived, err := s.derive("seal", bucket)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(derived)
	if err != nil {
		return nil, fmt.Errorf("cipher of %s: %w", bucket, err)
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		return nil, fmt.Errorf("cipher of %s: %w", bucket, err)
	}
	s.aeads[bucket] = aead
	return aead, nil
}

func (s *Sealer) derive(purpose, bucket string) ([]byte, error) {
	derived, err := hkdf.Key(sha256.New, s.master, nil, "flowrun/1/"+purpose+"/"+bucket, KeySize)
	if err != nil {
		return nil, fmt.Errorf("derive key of %s: %w", bucket, err)
	}
	return derived, nil
}

// fingerprint is a keyed hash: equal for equal texts, and without the key it
// tells nothing of them.
func (s *Sealer) fingerprint(purpose string, parts ...string) ([]byte, error) {
	derived, err := s.derive("fingerprint", purpose)
	if err != nil {
		return nil, err
	}
	mac := hmac.New(sha256.New, derived)
	for _, part := range parts {
		fmt.Fprintf(mac, "%d:%s", len(part), part)
	}
	return mac.Sum(nil), nil
}

// placeOf binds a value to its row. A bucket's name has no NUL.
func placeOf(bucket, key string) []byte { return []byte(bucket + "\x00" + key) }

// SealedKV is a KV whose values are sealed in the one below: plugin state,
// tokens, secrets. Keys stay readable.
type SealedKV struct {
	kv     KV
	sealer *Sealer
}

// Seal returns the sealing view of kv.
func Seal(kv KV, sealer *Sealer) *SealedKV { return &SealedKV{kv: kv, sealer: sealer} }

// Get returns the clear value. ErrUnseal.
func (s *SealedKV) Get(bucket, key string) (value []byte, version uint64, found bool, err error) {
	sealed, version, found, err := s.kv.Get(bucket, key)
	if err != nil || !found {
		return nil, 0, false, err
	}
	value, err = s.sealer.Open(bucket, key, sealed)
	if err != nil {
		return nil, 0, false, fmt.Errorf("open %s: %w", bucket, err)
	}
	return value, version, true, nil
}

// Put seals and stores a value.
func (s *SealedKV) Put(bucket, key string, value []byte, ifVersion *uint64) (version uint64, err error) {
	sealed, err := s.sealer.Seal(bucket, key, value)
	if err != nil {
		return 0, err
	}
	return s.kv.Put(bucket, key, sealed, ifVersion)
}

// Delete removes a row.
func (s *SealedKV) Delete(bucket, key string, ifVersion *uint64) error {
	return s.kv.Delete(bucket, key, ifVersion)
}

// List returns the keys that begin with prefix.
func (s *SealedKV) List(bucket, prefix string) ([]string, error) { return s.kv.List(bucket, prefix) }

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
// HKDF; bucket and key of the row are bound to the value. While a master key is
// exchanged it has two: it seals with the newest and opens with both. Safe for
// concurrent use.
type Sealer struct {
	entropy io.Reader

	// ring is held for reading from a row's load to its opening, and from its
	// sealing to its store: the keys never change in between.
	ring sync.RWMutex
	keys []*masterKey // the newest first

	mu sync.Mutex // an entropy source need not be safe
}

// masterKey is a master key with the ciphers of its buckets.
type masterKey struct {
	master []byte

	mu    sync.Mutex
	aeads map[string]cipher.AEAD
}

// NewSealer returns a Sealer with a master key of KeySize bytes, and the older
// ones that it still opens with. entropy gives the nonces: crypto/rand.Reader.
func NewSealer(master []byte, entropy io.Reader, older ...[]byte) (*Sealer, error) {
	s := &Sealer{entropy: entropy}
	return s, s.use(append([][]byte{master}, older...))
}

// use exchanges the keys, the newest first. It waits for rows that are about to
// be stored or opened.
func (s *Sealer) use(ring [][]byte) error {
	keys := make([]*masterKey, 0, len(ring))
	for _, master := range ring {
		if len(master) != KeySize {
			return fmt.Errorf("the key has %d bytes, not %d", len(master), KeySize)
		}
		keys = append(keys, &masterKey{master: append([]byte(nil), master...), aeads: map[string]cipher.AEAD{}})
	}
	s.ring.Lock()
	defer s.ring.Unlock()
	s.keys = keys
	return nil
}

// Seal encrypts a value for its place, with the newest key.
func (s *Sealer) Seal(bucket, key string, clear []byte) ([]byte, error) {
	s.ring.RLock()
	defer s.ring.RUnlock()
	return s.seal(bucket, key, clear)
}

// seal is Seal for a caller that holds the ring.
func (s *Sealer) seal(bucket, key string, clear []byte) ([]byte, error) {
	aead, err := s.keys[0].aead(bucket)
	if err != nil {
		return nil, err
	}
	sealed := make([]byte, 1+nonceSize, 1+nonceSize+len(clear)+aead.Overhead())
	sealed[0] = sealVersion
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, err := io.ReadFull(s.entropy, sealed[1:]); err != nil {
		return nil, fmt.Errorf("seal: read entropy: %w", err)
	}
	return aead.Seal(sealed, sealed[1:], clear, placeOf(bucket, key)), nil
}

// Open decrypts what Seal made for the same place. ErrUnseal.
func (s *Sealer) Open(bucket, key string, sealed []byte) ([]byte, error) {
	s.ring.RLock()
	defer s.ring.RUnlock()
	clear, _, err := s.open(bucket, key, sealed)
	return clear, err
}

// open is Open for a caller that holds the ring. newest tells whether the newest
// key opened it.
func (s *Sealer) open(bucket, key string, sealed []byte) (clear []byte, newest bool, err error) {
	for i, master := range s.keys {
		clear, err := master.open(bucket, key, sealed)
		if !errors.Is(err, ErrUnseal) {
			return clear, i == 0, err
		}
	}
	return nil, false, ErrUnseal
}

func (k *masterKey) open(bucket, key string, sealed []byte) ([]byte, error) {
	aead, err := k.aead(bucket)
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

func (k *masterKey) aead(bucket string) (cipher.AEAD, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if aead := k.aeads[bucket]; aead != nil {
		return aead, nil
	}
	derived, err := k.derive("seal", bucket)
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
	k.aeads[bucket] = aead
	return aead, nil
}

func (k *masterKey) derive(purpose, bucket string) ([]byte, error) {
	derived, err := hkdf.Key(sha256.New, k.master, nil, "flowrun/1/"+purpose+"/"+bucket, KeySize)
	if err != nil {
		return nil, fmt.Errorf("derive key of %s: %w", bucket, err)
	}
	return derived, nil
}

// fingerprint is a keyed hash: equal for equal texts under the same key, and
// without the key it tells nothing of them.
func (s *Sealer) fingerprint(purpose string, parts ...string) ([]byte, error) {
	s.ring.RLock()
	derived, err := s.keys[0].derive("fingerprint", purpose)
	s.ring.RUnlock()
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
func (s *SealedKV) Get(bucket, key string) (value []byte, version uint64, ok bool, err error) {
	s.sealer.ring.RLock()
	defer s.sealer.ring.RUnlock()
	sealed, version, ok, err := s.kv.Get(bucket, key)
	if err != nil || !ok {
		return nil, 0, false, err
	}
	value, _, err = s.sealer.open(bucket, key, sealed)
	if err != nil {
		return nil, 0, false, fmt.Errorf("open %s: %w", bucket, err)
	}
	return value, version, true, nil
}

// Put seals and stores a value.
func (s *SealedKV) Put(bucket, key string, value []byte, ifVersion *uint64) (version uint64, err error) {
	s.sealer.ring.RLock()
	defer s.sealer.ring.RUnlock()
	sealed, err := s.sealer.seal(bucket, key, value)
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

package secret

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
)

// opaqueBucket holds the data keys that opaque bytes are sealed with. They are rows
// like others, sealed with the master key: its rotation seals them anew, and the
// journals, which hold what they have sealed, stay as they are.
const opaqueBucket = "secrets.opaque"

// The form of sealed opaque bytes: magic, number of the data key, nonce, ciphertext
// with tag.
const (
	opaqueMagic    = "\x00frO\x01"
	opaqueHead     = len(opaqueMagic) + 4 + nonceSize
	opaqueOverhead = opaqueHead + 16
)

// Opaque seals bytes that go through journals and come back: equal bytes at the same
// place are sealed alike under one data key, so that who can't read them still sees
// what repeats. The nonce is a keyed digest of place and bytes (a synthetic
// initialisation vector), so no two texts share one. Safe for concurrent use.
type Opaque struct {
	kv      *SealedKV
	entropy func([]byte) error

	mu   sync.Mutex
	ring []*dataKey // the oldest first; nil = not read yet
	last uint32     // the highest number that a stored key has
}

type dataKey struct {
	number uint32
	aead   cipher.AEAD
	nonces []byte // key of the nonces
}

// NewOpaque returns the sealer over sealed rows. entropy fills a new key.
func NewOpaque(kv *SealedKV, entropy func([]byte) error) *Opaque {
	return &Opaque{kv: kv, entropy: entropy}
}

// Seal seals bytes for a place.
func (o *Opaque) Seal(place string, clear []byte) ([]byte, error) {
	key, err := o.newest()
	if err != nil {
		return nil, err
	}
	sealed := make([]byte, 0, opaqueOverhead+len(clear))
	sealed = append(sealed, opaqueMagic...)
	sealed = binary.BigEndian.AppendUint32(sealed, key.number)
	sealed = append(sealed, key.digest(place, clear)[:nonceSize]...)
	return key.aead.Seal(sealed, sealed[opaqueHead-nonceSize:], clear, []byte(place)), nil
}

// Open returns what Seal sealed for the same place, and bytes that it never sealed as
// they are: those of journals from before. ErrUnseal.
func (o *Opaque) Open(place string, stored []byte) ([]byte, error) {
	if !isOpaque(stored) {
		return stored, nil
	}
	key, err := o.numbered(binary.BigEndian.Uint32(stored[len(opaqueMagic):]))
	if err != nil {
		return nil, err
	}
	clear, err := key.aead.Open(nil, stored[opaqueHead-nonceSize:opaqueHead], stored[opaqueHead:], []byte(place))
	if err != nil {
		return nil, ErrUnseal
	}
	return clear, nil
}

func isOpaque(stored []byte) bool {
	return len(stored) >= opaqueOverhead && bytes.HasPrefix(stored, []byte(opaqueMagic))
}

// Shape tells of opaque bytes what people may see: how many there are in clear, and a
// keyed digest that is equal for equal bytes of one place. Bytes that were never sealed
// have no digest.
func Shape(stored []byte) (size int, digest string) {
	if !isOpaque(stored) {
		return len(stored), ""
	}
	return len(stored) - opaqueOverhead, hex.EncodeToString(stored[opaqueHead-nonceSize : opaqueHead-nonceSize+8])
}

// Digest is a keyed digest of a text, the same for good.
func (o *Opaque) Digest(text string) (string, error) {
	if _, err := o.newest(); err != nil { // makes the first one
		return "", err
	}
	o.mu.Lock()
	oldest := o.ring[0]
	o.mu.Unlock()
	return hex.EncodeToString(oldest.digest("digest", []byte(text))[:16]), nil
}

// Renew makes a new data key, which seals from now on; the older ones still open. A
// store in which nothing was sealed yet needs none.
func (o *Opaque) Renew() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if err := o.read(); err != nil || len(o.ring) == 0 {
		return err
	}
	return o.add()
}

func (o *Opaque) newest() (*dataKey, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if err := o.read(); err != nil {
		return nil, err
	}
	if len(o.ring) == 0 {
		if err := o.add(); err != nil {
			return nil, err
		}
	}
	return o.ring[len(o.ring)-1], nil
}

func (o *Opaque) numbered(number uint32) (*dataKey, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if err := o.read(); err != nil {
		return nil, err
	}
	for _, key := range o.ring {
		if key.number == number {
			return key, nil
		}
	}
	return nil, fmt.Errorf("data key %d is not there: %w", number, ErrUnseal)
}

// read fills the ring once. o.mu is held.
func (o *Opaque) read() error {
	if o.ring != nil {
		return nil
	}
	names, err := o.kv.List(opaqueBucket, "")
	if err != nil {
		return err
	}
	ring := []*dataKey{}
	for _, name := range names {
		number, err := strconv.ParseUint(name, 10, 32)
		if err != nil {
			return fmt.Errorf("data key %q has no number", name)
		}
		material, _, ok, err := o.kv.Get(opaqueBucket, name)
		switch {
		case errors.Is(err, ErrUnseal): // of another key file: what it sealed stays closed, the rest goes on
			o.last = max(o.last, uint32(number))
			continue
		case err != nil:
			return fmt.Errorf("data key %s: %w", name, err)
		case !ok:
			continue
		}
		o.last = max(o.last, uint32(number))
		key, err := newDataKey(uint32(number), material)
		if err != nil {
			return err
		}
		ring = append(ring, key)
	}
	slices.SortFunc(ring, func(a, b *dataKey) int { return int(a.number) - int(b.number) })
	o.ring = ring
	return nil
}

// add makes a data key, durable before anything is sealed with it. o.mu is held.
func (o *Opaque) add() error {
	number := o.last + 1
	material := make([]byte, KeySize)
	if err := o.entropy(material); err != nil {
		return fmt.Errorf("make a data key: %w", err)
	}
	key, err := newDataKey(number, material)
	if err != nil {
		return err
	}
	absent := uint64(0)
	if _, err := o.kv.Put(opaqueBucket, strconv.FormatUint(uint64(number), 10), material, &absent); err != nil {
		return fmt.Errorf("store a data key: %w", err)
	}
	o.ring, o.last = append(o.ring, key), number
	return nil
}

func newDataKey(number uint32, material []byte) (*dataKey, error) {
	if len(material) != KeySize {
		return nil, errors.New("a data key is damaged")
	}
	texts, err := hkdf.Key(sha256.New, material, nil, "flowrun/1/opaque/seal", KeySize)
	if err != nil {
		return nil, fmt.Errorf("derive a data key: %w", err)
	}
	nonces, err := hkdf.Key(sha256.New, material, nil, "flowrun/1/opaque/nonce", KeySize)
	if err != nil {
		return nil, fmt.Errorf("derive a data key: %w", err)
	}
	block, err := aes.NewCipher(texts)
	if err != nil {
		return nil, fmt.Errorf("cipher of a data key: %w", err)
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		return nil, fmt.Errorf("cipher of a data key: %w", err)
	}
	return &dataKey{number: number, aead: aead, nonces: nonces}, nil
}

func (k *dataKey) digest(place string, clear []byte) []byte {
	mac := hmac.New(sha256.New, k.nonces)
	fmt.Fprintf(mac, "%d:%s", len(place), place)
	mac.Write(clear)
	return mac.Sum(nil)
}

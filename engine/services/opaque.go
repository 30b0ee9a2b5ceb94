package services

import (
	"github.com/flowrun/flowrun/engine/pluginhost"
	"github.com/flowrun/flowrun/engine/secret"
)

// opaque seals what plugins leave for themselves (pluginhost.Opaque), with
// the data keys of the open store.
type opaque struct{ services *Services }

// Opaque returns what seals the bytes that plugins leave for themselves.
func (s *Services) Opaque() pluginhost.Opaque { return opaque{s} }

// Seal seals bytes for a place.
func (o opaque) Seal(place string, clear []byte) ([]byte, error) {
	return with(o.services, &o.services.opaque, func(s *secret.Opaque) ([]byte, error) { return s.Seal(place, clear) })
}

// Open returns what was sealed for a place, and what never was as it is.
func (o opaque) Open(place string, stored []byte) ([]byte, error) {
	return with(o.services, &o.services.opaque, func(s *secret.Opaque) ([]byte, error) { return s.Open(place, stored) })
}

// Digest is a keyed digest of a text.
func (o opaque) Digest(text string) (string, error) {
	return with(o.services, &o.services.opaque, func(s *secret.Opaque) (string, error) { return s.Digest(text) })
}

func (s *Services) renewOpaque() error {
	_, err := with(s, &s.opaque, func(o *secret.Opaque) (any, error) { return nil, o.Renew() })
	return err
}

// EachSecret visits the values of the stored secrets; none where no store is open.
// What can't be read is left out.
func (s *Services) EachSecret(visit func(value string)) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.sealed != nil {
		_ = secret.EachStored(s.sealed, visit)
	}
}

// Teach tells a redactor the stored secrets, and the secret outputs of these runs.
func (s *Services) Teach(masks *secret.Redactor, runs []string) error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.sealed == nil {
		return ErrNoStore
	}
	return secret.Teach(masks, s.sealed, runs)
}

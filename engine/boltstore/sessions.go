package boltstore

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"time"

	bolt "go.etcd.io/bbolt"
)

// The bounds of the rows that end by themselves.
const (
	maxSessions     = 10_000
	maxSessionValue = 64 << 10
)

// SessionHash is what a session is stored under: the SHA-256 of its secret, which
// is never stored.
type SessionHash [32]byte

// Session is a stored session. Value is the caller's; it is stored in clear.
type Session struct {
	Hash    SessionHash
	Value   []byte
	Expires time.Time // UTC, in milliseconds
}

// PutSession stores a session, or writes it anew; it returns after the fsync. What
// has ended by now goes in the same transaction, and where there are more than
// 10,000 those that end first.
func (s *Store) PutSession(session Session, now time.Time) error {
	if len(session.Value) > maxSessionValue {
		return fmt.Errorf("put session: value of %d bytes, allowed are %d", len(session.Value), maxSessionValue)
	}
	value, key := bytes.Clone(session.Value), bytes.Clone(session.Hash[:])
	expires := binary.BigEndian.AppendUint64(nil, uint64(max(0, session.Expires.UnixMilli())))
	err := s.do(len(value), func(w *writer) (bool, error) {
		ended, err := endedSessions(w.Tx, now, maxSessions-1)
		if err != nil {
			return false, err
		}
		return true, inTx(
			func() error { return removeSessions(w, ended) },
			func() error { return w.put(bucketSessions, key, expires, value) },
		)
	})
	if err != nil {
		return fmt.Errorf("put session: %w", err)
	}
	return nil
}

// Session returns a session that has not ended.
func (s *Store) Session(hash SessionHash, now time.Time) (session Session, found bool, err error) {
	err = s.view(func(tx *bolt.Tx) error {
		stored := tx.Bucket(bucketSessions).Get(hash[:])
		if stored == nil {
			return nil
		}
		session, err = decodeSession(hash[:], stored)
		found = err == nil && now.Before(session.Expires)
		return err
	})
	if err != nil || !found {
		return Session{}, false, err
	}
	return session, true, nil
}

// Sessions returns all sessions that have not ended, in the order of their hashes.
func (s *Store) Sessions(now time.Time) (sessions []Session, err error) {
	err = s.view(func(tx *bolt.Tx) error {
		return tx.Bucket(bucketSessions).ForEach(func(key, stored []byte) error {
			session, err := decodeSession(key, stored)
			if err == nil && now.Before(session.Expires) {
				sessions = append(sessions, session)
			}
			return err
		})
	})
	return sessions, err
}

// DeleteSessions removes sessions, after the fsync; absent ones are no error.
func (s *Store) DeleteSessions(hashes ...SessionHash) error {
	return s.dropSessions(func(tx *bolt.Tx) (keys [][]byte, err error) {
		for _, hash := range hashes {
			if tx.Bucket(bucketSessions).Get(hash[:]) != nil {
				keys = append(keys, bytes.Clone(hash[:]))
			}
		}
		return keys, nil
	})
}

// ExpireSessions removes the sessions that have ended. Without any it writes
// nothing.
func (s *Store) ExpireSessions(now time.Time) error {
	return s.dropSessions(func(tx *bolt.Tx) ([][]byte, error) { return endedSessions(tx, now, maxSessions) })
}

func (s *Store) dropSessions(choose func(tx *bolt.Tx) ([][]byte, error)) error {
	err := s.do(0, func(w *writer) (bool, error) {
		keys, err := choose(w.Tx)
		if err != nil || len(keys) == 0 {
			return false, err
		}
		return true, inTx(func() error { return removeSessions(w, keys) })
	})
	if err != nil {
		return fmt.Errorf("remove sessions: %w", err)
	}
	return nil
}

func removeSessions(w *writer, keys [][]byte) error {
	for _, key := range keys {
		if err := w.remove(bucketSessions, key); err != nil {
			return err
		}
	}
	return nil
}

// endedSessions returns the keys of what has ended, and of the one that ends first
// where more than most would stay: one comes with each login, so that one goes.
func endedSessions(tx *bolt.Tx, now time.Time, most int) (ended [][]byte, err error) {
	stay := 0
	var first []byte
	var firstEnd time.Time
	err = tx.Bucket(bucketSessions).ForEach(func(key, stored []byte) error {
		session, err := decodeSession(key, stored)
		if err != nil {
			return err
		}
		if !now.Before(session.Expires) {
			ended = append(ended, bytes.Clone(key))
			return nil
		}
		if stay++; first == nil || session.Expires.Before(firstEnd) {
			first, firstEnd = bytes.Clone(key), session.Expires
		}
		return nil
	})
	if stay > most {
		ended = append(ended, first)
	}
	return ended, err
}

func decodeSession(key, stored []byte) (session Session, err error) {
	payload, err := unseal(bucketSessions, key, stored)
	if err != nil {
		return session, err
	}
	if len(payload) < 8 || len(key) != len(session.Hash) {
		return session, &CorruptError{Bucket: string(bucketSessions), Key: hexKey(key), Detail: "not a session"}
	}
	copy(session.Hash[:], key)
	session.Expires = time.UnixMilli(int64(binary.BigEndian.Uint64(payload))).UTC()
	session.Value = bytes.Clone(payload[8:])
	return session, nil
}

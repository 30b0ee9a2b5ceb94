package boltstore

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"time"

	bolt "github.com/flowrun/flowrun/engine/boltstore/sealedpages"
	"github.com/flowrun/flowrun/engine/store"
)

// PutSession is that of store.Sessions.
func (s *Store) PutSession(session store.Session, now time.Time) error {
	if err := store.CheckSession(session); err != nil {
		return err
	}
	value, key := bytes.Clone(session.Value), bytes.Clone(session.Hash[:])
	expires := binary.BigEndian.AppendUint64(nil, uint64(max(0, session.Expires.UnixMilli())))
	err := s.do(len(value), func(w *writer) (bool, error) {
		ended, err := endedSessions(w.Tx, now, store.MaxSessions-1)
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

// Sessions is that of store.Sessions.
func (s *Store) Sessions(now time.Time) (sessions []store.Session, err error) {
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

// DeleteSessions is that of store.Sessions.
func (s *Store) DeleteSessions(hashes ...store.SessionHash) error {
	err := s.do(0, func(w *writer) (bool, error) {
		var keys [][]byte
		for _, hash := range hashes {
			if w.Bucket(bucketSessions).Get(hash[:]) != nil {
				keys = append(keys, bytes.Clone(hash[:]))
			}
		}
		return len(keys) > 0, inTx(func() error { return removeSessions(w, keys) })
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

func decodeSession(key, stored []byte) (session store.Session, err error) {
	payload, err := unseal(bucketSessions, key, stored)
	if err != nil {
		return session, err
	}
	if len(payload) < 8 || len(key) != len(session.Hash) {
		return session, &store.CorruptError{Bucket: string(bucketSessions), Key: hexKey(key), Detail: "not a session"}
	}
	copy(session.Hash[:], key)
	session.Expires = time.UnixMilli(int64(binary.BigEndian.Uint64(payload))).UTC()
	session.Value = bytes.Clone(payload[8:])
	return session, nil
}

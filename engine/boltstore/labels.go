package boltstore

import (
	"encoding/binary"
	"fmt"
	"maps"
	"slices"

	"github.com/flowrun/flowrun/engine/runs"
)

// labelPrefix is length-prefixed like that of workflows: name, then value.
func labelPrefix(name, value string) ([]byte, error) {
	if len(name) > 1<<11 || len(value) > 1<<11 {
		return nil, fmt.Errorf("label of %d bytes is too long", len(name)+len(value))
	}
	prefix := append(binary.BigEndian.AppendUint16(nil, uint16(len(name))), name...)
	return append(binary.BigEndian.AppendUint16(prefix, uint16(len(value))), value...), nil
}

// indexLabels writes the index rows of a new run: labels never change.
func (c *rowChange) indexLabels(w *writer) error {
	if c.old != nil {
		return nil
	}
	return putLabels(w, c.row, c.key)
}

func putLabels(w *writer, row *runs.Run, run []byte) error {
	for _, name := range slices.Sorted(maps.Keys(row.Labels)) {
		prefix, err := labelPrefix(name, row.Labels[name])
		if err != nil {
			return err
		}
		if err := w.put(bucketByLabel, join(prefix, run)); err != nil {
			return err
		}
	}
	return nil
}

package memstore

import (
	"errors"
	"strings"

	"github.com/flowrun/flowrun/engine/journal"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/store"
)

// EachRecord is that of store.Journal.
func (s *Store) EachRecord(id string, from uint64, visit func(*journal.Record) error) error {
	var part [][]byte
	err := s.view(func(d *data) error {
		r, err := d.run(id)
		if err == nil {
			part = r.records[min(max(from, 1)-1, uint64(len(r.records))):]
		}
		return err
	})
	if err != nil {
		return err
	}
	for _, encoded := range part {
		record, err := journal.Decode(encoded)
		if err != nil {
			return err
		}
		if err := visit(record); err != nil {
			return err
		}
	}
	return nil
}

// Records is that of store.Runs.
func (s *Store) Records(id string, from uint64, limit int) (records []*journal.Record, err error) {
	enough := errors.New("enough")
	err = s.EachRecord(id, from, func(record *journal.Record) error {
		if records = append(records, record); len(records) == limit {
			return enough
		}
		return nil
	})
	if err != nil && !errors.Is(err, enough) {
		return nil, err
	}
	return records, nil
}

// JournalBytes is that of store.Journal.
func (s *Store) JournalBytes(id string) (records, logs int64, err error) {
	err = s.view(func(d *data) error {
		r, err := d.run(id)
		if err == nil {
			records, logs = r.bytes, r.log.bytes()
		}
		return err
	})
	return records, logs, err
}

// PluginBytes is that of store.Upkeep.
func (s *Store) PluginBytes(id string) (by map[string]int64, err error) {
	by = map[string]int64{}
	err = s.view(func(d *data) error {
		r, err := d.run(id)
		if err != nil {
			return err
		}
		operations, steps := map[string]string{}, map[string]string{}
		for _, encoded := range r.records {
			record, err := journal.Decode(encoded)
			if err != nil {
				return err
			}
			path := runs.OperationOf(record.Event.Path)
			by[operations[path]] += int64(len(encoded))
			for _, command := range record.Commands {
				if command.Call != nil {
					plugin, _, _ := strings.Cut(command.Call.Action, ".")
					operations[command.Path], steps[command.Call.Step] = plugin, plugin
				}
			}
		}
		for _, l := range r.log.lines {
			by[steps[l.Step]] += int64(l.size)
		}
		return nil
	})
	return by, err
}

// EachRunUse is that of store.Upkeep.
func (s *Store) EachRunUse(visit func(store.RunUse) error) error {
	var uses []store.RunUse
	err := s.view(func(d *data) error {
		for _, row := range d.selected(runs.Filter{}) {
			r := d.runs[row.ID]
			uses = append(uses, store.RunUse{Run: clone(*row), Records: r.bytes, Logs: r.log.bytes(), Blobs: d.blobBytes(row.ID)})
		}
		return nil
	})
	for i := 0; i < len(uses) && err == nil; i++ {
		err = visit(uses[i])
	}
	return err
}

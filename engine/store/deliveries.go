package store

import (
	"errors"
	"fmt"
	"strings"

	"github.com/flowrun/flowrun/engine/runs"
)

// The buckets of deliveries: what is kept of each, and the keys of those of which
// something follows by itself.
const (
	deliveriesBucket     = "deliveries"
	openDeliveriesBucket = "deliveries.open"
)

func deliveryRow(run, id string) string { return run + "/" + id }

// PutDelivery stores what is kept of a delivery; fresh says that none must be there yet,
// else ErrConflict. A crash inside leaves either nothing that was not there before, or
// the whole of it.
func PutDelivery(kv KV, d *runs.Delivery, fresh bool) error {
	key := deliveryRow(d.Run, d.ID)
	if !d.State.Over() { // before the row: a key that leads to nothing is dropped, a row without a key would wait for ever
		if _, err := kv.Put(openDeliveriesBucket, key, []byte{1}, nil); err != nil {
			return fmt.Errorf("note delivery %s: %w", key, err)
		}
	}
	var version *uint64
	if fresh {
		version = new(uint64)
	}
	if err := PutJSON(kv, deliveriesBucket, key, d, version); err != nil {
		return fmt.Errorf("store delivery %s: %w", key, err)
	}
	if d.State.Over() {
		return kv.Delete(openDeliveriesBucket, key, nil)
	}
	return nil
}

// Delivery returns what is kept of a delivery; nil when nothing is.
func Delivery(kv KV, run, id string) (*runs.Delivery, error) {
	d := new(runs.Delivery)
	_, found, err := GetJSON(kv, deliveriesBucket, deliveryRow(run, id), d)
	if err != nil || !found {
		return nil, err
	}
	return d, nil
}

// Deliveries returns what is kept of the deliveries of a run, in the order of their ids.
func Deliveries(kv KV, run string) ([]runs.Delivery, error) {
	keys, err := kv.List(deliveriesBucket, run+"/")
	if err != nil {
		return nil, err
	}
	var list []runs.Delivery
	for _, key := range keys {
		d, err := Delivery(kv, run, strings.TrimPrefix(key, run+"/"))
		if err != nil {
			return nil, err
		}
		if d != nil {
			list = append(list, *d)
		}
	}
	return list, nil
}

// OpenDeliveries returns the deliveries of which something follows by itself. Keys that
// lead to nothing, as a crash leaves them, are dropped.
func OpenDeliveries(kv KV) ([]runs.Delivery, error) {
	keys, err := kv.List(openDeliveriesBucket, "")
	if err != nil {
		return nil, err
	}
	var list []runs.Delivery
	for _, key := range keys {
		run, id, _ := strings.Cut(key, "/")
		d, err := Delivery(kv, run, id)
		switch {
		case err != nil:
			return nil, err
		case d == nil, d.State.Over():
			if err := kv.Delete(openDeliveriesBucket, key, nil); err != nil {
				return nil, err
			}
		default:
			list = append(list, *d)
		}
	}
	return list, nil
}

// DropDeliveries removes what is kept of the deliveries of a run.
func DropDeliveries(kv KV, run string) error {
	var errs []error
	for _, bucket := range []string{openDeliveriesBucket, deliveriesBucket} {
		keys, err := kv.List(bucket, run+"/")
		if err != nil {
			return err
		}
		for _, key := range keys {
			errs = append(errs, kv.Delete(bucket, key, nil))
		}
	}
	return errors.Join(errs...)
}

// DeliveryRuns returns the runs of which deliveries are kept, each once.
func DeliveryRuns(kv KV) ([]string, error) {
	keys, err := kv.List(deliveriesBucket, "")
	if err != nil {
		return nil, err
	}
	var ids []string
	for _, key := range keys { // in order: those of a run stand side by side
		if run, _, _ := strings.Cut(key, "/"); len(ids) == 0 || ids[len(ids)-1] != run {
			ids = append(ids, run)
		}
	}
	return ids, nil
}

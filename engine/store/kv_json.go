package store

import (
	"encoding/json"
	"fmt"
)

// GetJSON reads a row that PutJSON has written into value. found is false where there
// is none; value is as it was then.
func GetJSON(kv KV, bucket, key string, value any) (version uint64, found bool, err error) {
	stored, version, found, err := kv.Get(bucket, key)
	if err != nil || !found {
		return 0, false, err
	}
	if err := json.Unmarshal(stored, value); err != nil {
		return version, false, fmt.Errorf("%s: %w", bucket, err)
	}
	return version, true, nil
}

// PutJSON stores a value as JSON; ifVersion is that of KV.Put.
func PutJSON(kv KV, bucket, key string, value any, ifVersion *uint64) error {
	encoded, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("%s: %w", bucket, err)
	}
	_, err = kv.Put(bucket, key, encoded, ifVersion)
	return err
}

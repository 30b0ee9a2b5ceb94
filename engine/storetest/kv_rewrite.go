package storetest

import (
	"errors"
	"fmt"
	"slices"
	"testing"
)

// rowsAreRewrittenInPlace part by part, and whoever compares and sets is not disturbed.
func rowsAreRewrittenInPlace(t *testing.T, b Backend) {
	kv := b.fresh(t).KV()
	versions := map[string]uint64{}
	for n := range 5 {
		key := fmt.Sprint("k", n)
		version, err := kv.Put("sealed", key, fmt.Append(nil, "old ", n), nil)
		if err != nil {
			t.Fatal(err)
		}
		versions[key] = version
	}
	broken := errors.New("broken")
	if _, _, err := kv.Rewrite("sealed", "", 5, func(key string, _ []byte) ([]byte, error) {
		if key == "k3" {
			return nil, broken
		}
		return []byte("lost"), nil
	}); !errors.Is(err, broken) {
		t.Errorf("a change that fails: %v", err)
	}
	var seen []string
	for after, parts := "", 0; ; parts++ {
		last, rewritten, err := kv.Rewrite("sealed", after, 2, func(key string, value []byte) ([]byte, error) {
			if seen = append(seen, key+"="+string(value)); key == "k1" {
				return nil, nil
			}
			return []byte("new" + key[1:]), nil
		})
		if err != nil || rewritten > 2 || parts > 5 {
			t.Fatalf("%d rewritten, %v", rewritten, err)
		}
		if after = last; last == "" {
			break
		}
	}
	if want := []string{"k0=old 0", "k1=old 1", "k2=old 2", "k3=old 3", "k4=old 4"}; !slices.Equal(want, seen) {
		t.Errorf("shown: %q", seen)
	}
	for key, before := range versions {
		value, version, _, err := kv.Get("sealed", key)
		want := "new" + key[1:]
		if key == "k1" {
			want = "old 1"
		}
		if err != nil || string(value) != want || version != before {
			t.Errorf("%s is %q of version %d, not %d: %v", key, value, version, before, err)
		}
	}
	sizes, err := kv.Sizes("sealed", "k")
	if err != nil || len(sizes) != 5 || sizes[0].Key != "k0" || sizes[1].Bytes <= sizes[0].Bytes {
		t.Errorf("sizes %+v, %v", sizes, err)
	}
}

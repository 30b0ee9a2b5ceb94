package boltstore_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/flowrun/flowrun/engine/boltstore"
	"github.com/flowrun/flowrun/engine/journal"
	"github.com/flowrun/flowrun/engine/storetest"
)

// BenchmarkOpen measures a start after a clean close, and after a kill, over 64
// MiB of small records. FLOWRUN_OPEN_MIB takes another size.
func BenchmarkOpen(b *testing.B) {
	mib := 64
	if text := os.Getenv("FLOWRUN_OPEN_MIB"); text != "" {
		if _, err := fmt.Sscan(text, &mib); err != nil {
			b.Fatal(err)
		}
	}
	path := filepath.Join(b.TempDir(), "flowrun.db")
	s, err := boltstore.Open(path, boltstore.Options{})
	if err != nil {
		b.Fatal(err)
	}
	output := `{"text":"` + strings.Repeat("answer ", 70) + `"}`
	for n := 0; s.Usage().FileBytes < int64(mib)<<20; n++ {
		storetest.Create(b, s, storetest.Row(n), n)
		for seq := uint64(2); seq < 1000; {
			var records []*journal.Record
			for ; len(records) < 500 && seq < 1000; seq++ {
				records = append(records, storetest.Completed(seq, output))
			}
			if err := storetest.Append(s, storetest.ID(n), records, nil); err != nil {
				b.Fatal(err)
			}
		}
	}
	killed := filepath.Join(b.TempDir(), "killed.db")
	content, err := os.ReadFile(path)
	if err != nil {
		b.Fatal(err)
	}
	if err := os.WriteFile(killed, content, 0o600); err != nil {
		b.Fatal(err)
	}
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
	b.Run("closed", func(b *testing.B) { benchOpen(b, path, "") })
	b.Run("killed", func(b *testing.B) { benchOpen(b, killed, killed+".copy") })
}

// benchOpen opens path, or for each time a copy: a close would make it clean.
func benchOpen(b *testing.B, path, copied string) {
	info, err := os.Stat(path)
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(info.Size())
	for b.Loop() {
		at := path
		if copied != "" {
			b.StopTimer()
			content, err := os.ReadFile(path)
			if err != nil {
				b.Fatal(err)
			}
			if err := os.WriteFile(copied, content, 0o600); err != nil {
				b.Fatal(err)
			}
			at = copied
			b.StartTimer()
		}
		s, err := boltstore.Open(at, boltstore.Options{})
		if err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
}

package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	bolt "go.etcd.io/bbolt"

	"github.com/flowrun/flowrun/bench/figures"
)

// TestMain is the plugin when the floor starts itself as one.
func TestMain(m *testing.M) {
	if len(os.Args) == 4 && os.Args[1] == "plugin" {
		if err := servePlugin(os.Args[3], os.Stdin, os.Stdout); err != nil {
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

func TestAMessageComesBackAsItWas(t *testing.T) {
	for name, want := range map[string]message{
		"all fields": {ID: 1 << 40, Action: "echo", Key: "k-1", Body: []byte(`{"n":1}`)},
		"a body":     {Body: []byte{0, 255}},
	} {
		text, err := codec{}.Marshal(&want)
		if err != nil {
			t.Fatal(err)
		}
		// A field that the floor does not know is left out.
		var got message
		if err := (codec{}).Unmarshal(append([]byte{0x78, 1}, text...), &got); err != nil {
			t.Fatal(name, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(name, diff)
		}
		if err := (codec{}).Unmarshal(text[:len(text)-1], &got); err == nil {
			t.Errorf("%s: half a message was read", name)
		}
	}
}

// left counts what is in a file, with the records of each kind.
func left(t *testing.T, path string) map[string]int {
	t.Helper()
	db, err := bolt.Open(path, 0o600, &bolt.Options{ReadOnly: true, Timeout: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	found := map[string]int{}
	err = db.View(func(tx *bolt.Tx) error {
		runs, next := map[string]uint64{}, uint64(0)
		if err := tx.Bucket([]byte(bucketJournal)).ForEach(func(key, value []byte) error {
			var r record
			if err := json.Unmarshal(value, &r); err != nil {
				return err
			}
			found[r.Kind]++
			if next = runs[string(key[:16])]; binary.BigEndian.Uint64(key[16:]) != next {
				t.Errorf("record %d of a run is missing", next)
			}
			runs[string(key[:16])] = next + 1
			return nil
		}); err != nil {
			return err
		}
		return tx.Bucket([]byte(bucketIndex)).ForEach(func(key, _ []byte) error {
			found["index "+strings.TrimRight(string(key[:len(key)-16]), "\x00")]++
			return nil
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// TestTheFloorStoresWhatItSays runs each form and policy, and looks at the file: a floor
// that left something out would be no measure.
func TestTheFloorStoresWhatItSays(t *testing.T) {
	ctx := context.Background()
	for name, c := range map[string]struct {
		policy, transport string
		run               func(e *engine) error
		want              map[string]int
		commits           uint64 // at least
	}{
		"a sequence whose intents are apart": {policyApart, unary, func(e *engine) error { return e.sequence(ctx, 5) }, map[string]int{"started": 1, "intent": 5, "result": 5, "ended": 1, "index succeeded": 1}, 10},
		"a sequence":                         {policyMerged, unary, func(e *engine) error { return e.sequence(ctx, 5) }, map[string]int{"started": 1, "intent": 5, "result": 5, "ended": 1, "index succeeded": 1}, 6},
		"a sequence over a stream":           {policyMerged, stream, func(e *engine) error { return e.sequence(ctx, 5) }, map[string]int{"started": 1, "intent": 5, "result": 5, "ended": 1, "index succeeded": 1}, 6},
		"a sequence of reads":                {policyReads, unary, func(e *engine) error { return e.sequence(ctx, 5) }, map[string]int{"started": 1, "result": 5, "ended": 1, "index succeeded": 1}, 2},
		"a fan":                              {policyMerged, unary, func(e *engine) error { return e.fan(ctx, 40, 8) }, map[string]int{"started": 1, "intent": 40, "result": 40, "ended": 1, "index succeeded": 1}, 2},
		"a fan over a stream":                {policyMerged, stream, func(e *engine) error { return e.fan(ctx, 40, 8) }, map[string]int{"started": 1, "intent": 40, "result": 40, "ended": 1, "index succeeded": 1}, 2},
		"many runs": {policyMerged, stream, func(e *engine) error {
			took, err := e.many(ctx, 20, 3, 8)
			if len(took) != 20 || took[19] == 0 {
				t.Errorf("the runs took %v", took)
			}
			return err
		}, map[string]int{"started": 20, "intent": 60, "result": 60, "ended": 20, "index succeeded": 20}, 4},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			p, err := startPlugin(t.Context(), dir, c.transport, 1)
			if err != nil {
				t.Fatal(err)
			}
			store, err := openStore(filepath.Join(dir, "floor.db"))
			if err != nil {
				t.Fatal(err)
			}
			if err := c.run(&engine{store: store, calls: p.calls, policy: c.policy}); err != nil {
				t.Error(err)
			}
			if store.committed() < c.commits {
				t.Errorf("%d commits: at least %d are waited for", store.committed(), c.commits)
			}
			if err := store.close(); err != nil {
				t.Error(err)
			}
			if err := p.end(); err != nil {
				t.Error(err)
			}
			if diff := cmp.Diff(c.want, left(t, filepath.Join(dir, "floor.db"))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestAColdFloor(t *testing.T) {
	dir := t.TempDir()
	store := filepath.Join(dir, "floor.db")
	for name, text := range map[string]string{
		"let":    `{"name": "let", "steps": [{"id": "a", "value": {"n": 0}}]}`,
		"plugin": `{"name": "plugin", "steps": [{"id": "a", "uses": "echo", "with": {"n": 0}}]}`,
	} {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := command([]string{"cold", "-store", store, "-workflow", file}); err != nil {
			t.Error(name, err)
		}
	}
	want := map[string]int{"started": 2, "intent": 2, "result": 2, "ended": 2, "index succeeded": 2}
	if diff := cmp.Diff(want, left(t, store)); diff != "" {
		t.Error(diff)
	}
}

func TestTheFloorPrintsASample(t *testing.T) {
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout := os.Stdout
	os.Stdout = writer
	err = command([]string{"runs", "-n", "8", "-at-a-time", "2", "-dir", t.TempDir()})
	os.Stdout = stdout
	writer.Close()
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(reader)
	if err != nil {
		t.Fatal(err)
	}
	samples, err := figures.Read(bytes.NewReader(text))
	if err != nil || len(samples) != 1 {
		t.Fatalf("%d samples: %v\n%s", len(samples), err, text)
	}
	s := samples[0]
	if s.Units != 8 || s.Unit != "run" || s.Wall <= 0 || s.P99 <= 0 || s.Commits < 4 || s.Fsyncs != 2*s.Commits || s.Written == 0 || s.Allocs == 0 {
		t.Errorf("the sample is %+v", s)
	}
}

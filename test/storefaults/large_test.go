//go:build linux && (amd64 || arm64)

package storefaults_test

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/flowrun/flowrun/engine/store"
	"github.com/flowrun/flowrun/internal/suitesize"
	"github.com/flowrun/flowrun/test/systrace"
)

func largeSum(text string) [32]byte { return sha256.Sum256([]byte(text)) }

// tree is a folder with folders in it, as a power loss could leave them.
type tree struct {
	root  string
	disks map[string]*disk // by folder
}

func newTree(root string) *tree {
	return &tree{root: root, disks: map[string]*disk{root: newDisk(root)}}
}

// take applies a call that is over.
func (t *tree) take(c *systrace.Call) error {
	if c.Err != 0 {
		return nil
	}
	if c.Kind == systrace.MakeDir {
		parent := t.disks[filepath.Dir(c.Path)]
		if parent == nil {
			return fmt.Errorf("%v: its folder is not known", c)
		}
		t.disks[c.Path] = newDisk(c.Path)
		made := &inode{}
		parent.names[filepath.Base(c.Path)] = made
		parent.moves = append(parent.moves, move{"", filepath.Base(c.Path), made, c.Ended})
		return nil
	}
	if d := t.disks[c.Path]; d != nil {
		return d.take(c)
	}
	if d := t.disks[filepath.Dir(c.Path)]; d != nil {
		return d.take(c)
	}
	return nil
}

// write makes a folder hold what a power loss leaves.
func (t *tree) write(f fate, at, to string) error {
	d := t.disks[at]
	images := f.files(d)
	folders := []string{}
	for name := range images {
		if t.disks[filepath.Join(at, name)] != nil {
			folders = append(folders, name)
			delete(images, name)
		}
	}
	if err := os.MkdirAll(to, 0o700); err != nil {
		return err
	}
	if err := writeImages(to, images); err != nil {
		return err
	}
	slices.Sort(folders)
	for _, name := range folders {
		if err := t.write(f, filepath.Join(at, name), filepath.Join(to, name)); err != nil {
			return err
		}
	}
	return nil
}

// recordLarge runs a job and returns what it did, in order.
func recordLarge(t *testing.T, j largeJob, enter func(c *systrace.Call) syscall.Errno) (events []event) {
	t.Helper()
	argument, err := json.Marshal(j)
	if err != nil {
		t.Fatal(err)
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	folder := filepath.Dir(j.Path)
	_, err = systrace.Run(t.Context(), systrace.Command{
		Path: "/proc/self/exe", Args: []string{"storefaults"}, Env: childEnv("large", string(argument)), Files: []*os.File{null, null, os.Stderr},
	}, systrace.Handler{
		Enter: func(c *systrace.Call) syscall.Errno {
			if text := spoken(c); text != "" {
				events = append(events, event{line: text})
			}
			if enter == nil {
				return 0
			}
			return enter(c)
		},
		Exit: func(c *systrace.Call) {
			if c.Path == folder || strings.HasPrefix(c.Path, folder+"/") {
				events = append(events, event{call: c})
			}
		},
	})
	skipWhereRefused(t, err)
	if len(events) == 0 || events[len(events)-1].line != "end" {
		t.Fatalf("the child did not come to its end: %s", lastLines(events))
	}
	return events
}

// did is how many operations a line acknowledges.
func did(line string) int {
	text, ok := strings.CutPrefix(line, "did ")
	n, err := strconv.Atoi(text)
	if !ok || err != nil {
		return 0
	}
	return n
}

// largeImages calls judge with images of a trace: at each event the one that kill -9
// leaves, and of random moments those of power losses.
func largeImages(t *testing.T, events []event, root string, losses int, ignore func(*systrace.Call) bool, judge func(name, path string, done int)) {
	t.Helper()
	source := rand.New(rand.NewPCG(testSeed(t), 67))
	moments := map[int]int{}
	for range losses {
		moments[source.IntN(len(events)+1)]++
	}
	files, done := newTree(root), 0
	folder := scratch(t)
	for at := 0; ; at++ {
		fates := []fate{{source: source, keep: 1}}
		for range moments[at] {
			fates = append(fates, drawFate(source))
		}
		for n, f := range fates {
			if n == 0 && losses == 0 {
				continue
			}
			to := filepath.Join(folder, fmt.Sprintf("%d-%d", at, n))
			if n == 0 {
				f = fate{source: rand.New(lastOf{}), keep: 1}
			}
			if err := files.write(f, root, to); err != nil {
				t.Fatal(err)
			}
			judge(fmt.Sprintf("event %d of %d, image %d", at, len(events), n), filepath.Join(to, "flowrun.db"), done)
			_ = os.RemoveAll(to)
		}
		if at == len(events) {
			return
		}
		e := events[at]
		if e.call == nil {
			done = max(done, did(e.line))
			continue
		}
		if ignore != nil && e.call.Kind == systrace.Sync && ignore(e.call) {
			continue
		}
		if err := files.take(e.call); err != nil {
			t.Fatal(err)
		}
	}
}

// lastOf always draws the most: all names that there are, all that was written.
type lastOf struct{}

func (lastOf) Uint64() uint64 { return 1<<64 - 1 }

func inLargeFolder(c *systrace.Call) bool {
	return strings.Contains(c.Path, store.LargeSuffix)
}

// TestP21_NothingOfALargeValueIsLost by kill -9 at any system call, nor by power loss at any
// moment: what was acknowledged is there, what stands is what was written, and what nothing
// refers to is swept.
func TestP21_NothingOfALargeValueIsLost(t *testing.T) {
	path := filepath.Join(scratch(t), "flowrun.db")
	events := recordLarge(t, largeJob{Path: path}, nil)
	ops, _ := largeOps()
	if last := lastLines(events); !strings.Contains(last, fmt.Sprintf("did %d; end", len(ops))) || strings.Contains(last, "failed") {
		t.Fatal(last)
	}
	images, faults := 0, 0
	largeImages(t, events, filepath.Dir(path), suitesize.Of(t, "FLOWRUN_LARGE_IMAGES", 300), nil, func(name, image string, done int) {
		images++
		if wrong := largeFaults(image, done); len(wrong) > 0 && faults < 10 {
			faults++
			t.Errorf("%s, %d done: %s", name, done, strings.Join(wrong, "; "))
		}
	})
	t.Logf("%d images of %d events", images, len(events))
}

// Controls: a store that does not sync the files of large values, their folders, or
// acknowledges too early loses what it acknowledged; the suite must see it.
func TestP21_ControlsAreCaught(t *testing.T) {
	path := filepath.Join(scratch(t), "flowrun.db")
	for name, c := range map[string]struct {
		early  bool
		ignore func(*systrace.Call) bool
	}{
		"files are not synced":   {ignore: func(c *systrace.Call) bool { return inLargeFolder(c) && len(filepath.Base(c.Path)) == 32 }},
		"folders are not synced": {ignore: func(c *systrace.Call) bool { return inLargeFolder(c) && len(filepath.Base(c.Path)) == 2 }},
		"it answers too early":   {early: true},
	} {
		t.Run(name, func(t *testing.T) {
			_ = os.RemoveAll(path)
			_ = os.RemoveAll(path + store.LargeSuffix)
			events := recordLarge(t, largeJob{Path: path, Early: c.early}, nil)
			caught := 0
			largeImages(t, events, filepath.Dir(path), 300, c.ignore, func(_, image string, done int) {
				if len(largeFaults(image, done)) > 0 {
					caught++
				}
			})
			if caught == 0 {
				t.Error("nothing was caught")
			}
			t.Logf("%d images were caught", caught)
		})
	}
}

// TestP21_AFailedSystemCallFailsThePart and nothing else: the error says so, the operation
// is done again, and what was acknowledged is there at the end.
func TestP21_AFailedSystemCallFailsThePart(t *testing.T) {
	ops, _ := largeOps()
	reached := map[string]int{}
	for _, name := range []string{"pwrite64", "write", "fsync", "openat", "mkdirat", "ftruncate", "unlinkat"} {
		for at := 1; ; at++ {
			result := []syscall.Errno{syscall.ENOSPC, syscall.EIO}[at%2]
			path := filepath.Join(scratch(t), "flowrun.db")
			calls, met := 0, false
			events := recordLarge(t, largeJob{Path: path, Again: true}, func(c *systrace.Call) syscall.Errno {
				if !inLargeFolder(c) || c.Name != name {
					return 0
				}
				if calls++; calls != at {
					return 0
				}
				met = true
				return result
			})
			if !met {
				break
			}
			reached[name]++
			done := 0
			for _, e := range events {
				if text, ok := strings.CutPrefix(e.line, "failed "); ok && (!strings.Contains(text, store.LargeSuffix) || strings.HasPrefix(text, "twice") || !strings.Contains(text, result.Error())) {
					t.Errorf("%s %d: %v: the child says %q", name, at, result, e.line)
				}
				done = max(done, did(e.line))
			}
			if done != len(ops) {
				t.Errorf("%s %d: %v: %d of %d operations came to their end: %s", name, at, result, done, len(ops), lastLines(events))
			}
			if wrong := largeFaults(path, done); len(wrong) > 0 {
				t.Errorf("%s %d: %v: %s", name, at, result, strings.Join(wrong, "; "))
			}
			_ = os.RemoveAll(filepath.Dir(path))
		}
	}
	t.Logf("faults that were met: %v", reached)
	for _, name := range []string{"pwrite64", "fsync", "openat", "mkdirat", "ftruncate"} {
		if reached[name] == 0 {
			t.Errorf("%s was never met", name)
		}
	}
}

//go:build linux && (amd64 || arm64)

package storefaults_test

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/flowrun/flowrun/test/systrace"
)

// disk is a folder as a power loss could leave it: for each file the content
// that is synced, and what was done to it since. It is fed with the calls of a
// trace in their order.
type disk struct {
	folder string
	names  map[string]*inode // as the running system sees them
	synced map[string]*inode // the names that a power loss leaves
	moves  []move            // what happened to names since the folder was synced
	ignore func(*systrace.Call) bool
}

// inode is a file's content.
type inode struct {
	data    []byte // synced, up to the last byte that was ever written; never changed in place
	size    int64  // synced
	pending []change
}

// change is a write, or a truncate when data is nil.
type change struct {
	offset int64
	data   []byte
	size   int64 // of the file afterwards, when it was smaller before; of a truncate: its size
	ended  uint64
}

// move is a change of the folder.
type move struct {
	from, to string // from "" = a new file, to "" = removed
	file     *inode
	ended    uint64
}

func newDisk(folder string) *disk {
	return &disk{folder: folder, names: map[string]*inode{}, synced: map[string]*inode{}}
}

// holdsAlready puts a file there, all of it synced.
func (d *disk) holdsAlready(name string, content []byte) {
	file := &inode{data: content, size: int64(len(content))}
	d.names[name] = file
	d.synced = maps.Clone(d.names)
}

// take applies a call that is over. Calls that fail change nothing. An error
// says that the model does not know what the call does.
func (d *disk) take(c *systrace.Call) error {
	if c.Err != 0 || c.Path != d.folder && !d.holds(c.Path) && !d.holds(c.Target) {
		return nil
	}
	name := filepath.Base(c.Path)
	switch c.Kind {
	case systrace.Open:
		return d.open(name, c)
	case systrace.Write, systrace.Truncate:
		file := d.names[name]
		if file == nil {
			return fmt.Errorf("%v: the file is not known", c)
		}
		return file.change(c)
	case systrace.Sync:
		if d.ignore == nil || !d.ignore(c) {
			d.sync(name, c)
		}
		return nil
	case systrace.Rename:
		target := filepath.Base(c.Target)
		d.names[target] = d.names[name]
		delete(d.names, name)
		d.moves = append(d.moves, move{name, target, d.names[target], c.Ended})
		return nil
	case systrace.Link:
		target := filepath.Base(c.Target)
		d.names[target] = d.names[name]
		d.moves = append(d.moves, move{"", target, d.names[target], c.Ended})
		return nil
	case systrace.Remove:
		d.moves = append(d.moves, move{name, "", d.names[name], c.Ended})
		delete(d.names, name)
		return nil
	default:
		return fmt.Errorf("%v: the model does not know this call", c)
	}
}

func (d *disk) holds(path string) bool { return strings.HasPrefix(path, d.folder+"/") }

func (d *disk) open(name string, c *systrace.Call) error {
	if c.Path == d.folder {
		return nil
	}
	if c.Flags&(syscall.O_SYNC|syscall.O_DSYNC) != 0 {
		return fmt.Errorf("%v: the model does not know O_SYNC", c)
	}
	file := d.names[name]
	if file == nil {
		if c.Flags&syscall.O_CREAT == 0 {
			return fmt.Errorf("%v: the file is not known", c)
		}
		file = &inode{}
		d.names[name] = file
		d.moves = append(d.moves, move{"", name, file, c.Ended})
		return nil
	}
	if c.Flags&syscall.O_TRUNC != 0 {
		file.pending = append(file.pending, change{ended: c.Ended})
	}
	return nil
}

func (f *inode) change(c *systrace.Call) error {
	if c.Kind == systrace.Truncate {
		f.pending = append(f.pending, change{size: c.Size, ended: c.Ended})
		return nil
	}
	offset := c.Offset
	if offset < 0 { // only files that are written from their begin to their end
		offset = f.now()
	}
	data := c.Data[:c.Result]
	f.pending = append(f.pending, change{offset: offset, data: data, size: max(f.now(), offset+int64(len(data))), ended: c.Ended})
	return nil
}

// now is the size that the running system sees.
func (f *inode) now() int64 {
	if n := len(f.pending); n > 0 {
		return f.pending[n-1].size
	}
	return f.size
}

// sync makes durable what was over before the call began: a file's changes, or
// the names of the folder.
func (d *disk) sync(name string, c *systrace.Call) {
	if c.Path == d.folder {
		n := 0
		for n < len(d.moves) && d.moves[n].ended < c.Began {
			d.synced = d.moves[n].apply(d.synced)
			n++
		}
		d.moves = d.moves[n:]
		return
	}
	file := d.names[name]
	if file == nil {
		return
	}
	n := 0
	for n < len(file.pending) && file.pending[n].ended < c.Began {
		n++
	}
	var content image
	content.from(file)
	for _, change := range file.pending[:n] {
		content.apply(change, nil)
	}
	file.data, file.size = content.data, content.size
	file.pending = slices.Clone(file.pending[n:])
}

// apply returns the names after a move.
func (m move) apply(names map[string]*inode) map[string]*inode {
	names = maps.Clone(names)
	delete(names, m.from)
	if m.to != "" {
		names[m.to] = m.file
	}
	return names
}

// metaIsPending reports whether one of the first two pages of a file was written
// since it was synced.
func (d *disk) metaIsPending(path string) bool {
	file := d.names[filepath.Base(path)]
	return file != nil && slices.ContainsFunc(file.pending, func(c change) bool { return c.data != nil && c.offset < 2*pageSize })
}

// unsynced reports whether anything would be lost at this moment.
func (d *disk) unsynced() bool {
	if len(d.moves) > 0 {
		return true
	}
	for _, file := range d.names {
		if len(file.pending) > 0 {
			return true
		}
	}
	return false
}

// image is the content of a file after a power loss.
type image struct {
	data []byte // the file's begin; the rest up to size is zero
	size int64
	own  bool // data may be changed
}

func (i *image) from(f *inode) { i.data, i.size, i.own = f.data, f.size, false }

// apply does a change. survives says for each sector of a write whether it
// reached the disk; nil = all did.
func (i *image) apply(c change, survives func(sector int64) bool) {
	if !i.own {
		i.data, i.own = slices.Clone(i.data), true
	}
	if c.data == nil {
		i.data, i.size = i.data[:min(int64(len(i.data)), c.size)], c.size
		return
	}
	end := c.offset + int64(len(c.data))
	if int64(len(i.data)) < end {
		i.data = append(i.data, make([]byte, end-int64(len(i.data)))...)
	}
	i.size = max(i.size, end)
	if survives == nil {
		copy(i.data[c.offset:], c.data)
		return
	}
	for at := c.offset; at < end; {
		next := min(end, (at/sectorOfDisk+1)*sectorOfDisk)
		if survives(at / sectorOfDisk) {
			copy(i.data[at:next], c.data[at-c.offset:next-c.offset])
		}
		at = next
	}
}

// sectorOfDisk is the smallest unit that a disk writes as a whole.
const sectorOfDisk = 512

// fate says what of the un-synced changes a power loss leaves.
type fate struct {
	source *rand.Rand
	keep   float64 // the chance of a whole write
	torn   int64   // sectors of a torn write that go together; 0 = none is torn
}

// drawFate draws one of several kinds of power loss.
func drawFate(source *rand.Rand) fate {
	f := fate{source: source}
	switch source.IntN(6) {
	case 0: // nothing
	case 1:
		f.keep = 1
	case 2:
		f.keep = 0.1
	case 3:
		f.keep = 0.9
	default:
		f.keep = source.Float64()
	}
	switch source.IntN(3) {
	case 0:
		f.torn = 1
	case 1:
		f.torn = 4096 / sectorOfDisk
	}
	return f
}

// file draws what is left of a file. Writes reach the disk in any order: one may
// be there and an earlier one missing. Of two writes to the same place the later
// one is never overtaken, since both lie in the same page of memory.
func (f fate) file(file *inode) image {
	var content image
	content.from(file)
	size := file.size
	for _, c := range file.pending {
		if f.source.Float64() < 0.5 {
			size = c.size
		}
		switch {
		case c.data == nil: // a file that became larger has the same data
			if f.source.Float64() < f.keep {
				content.apply(c, nil)
			}
		case f.torn > 0 && f.source.IntN(3) == 0:
			drawn := map[int64]bool{}
			content.apply(c, func(sector int64) bool {
				unit := sector / f.torn
				if _, ok := drawn[unit]; !ok {
					drawn[unit] = f.source.IntN(2) == 0
				}
				return drawn[unit]
			})
		case f.source.Float64() < f.keep:
			content.apply(c, nil)
		}
	}
	// The size is one of those that the file had. What lies beyond it is lost.
	if n := len(file.pending); n > 0 && (f.keep == 1 && f.torn == 0) {
		size = file.now()
	}
	content.size = size
	if int64(len(content.data)) > size {
		content.data = content.data[:size]
	}
	return content
}

// files draws the folder after a power loss. Names change in their order, as the
// journal of a file system keeps them.
func (f fate) files(d *disk) map[string]image {
	names := d.synced
	for _, m := range d.moves[:f.source.IntN(len(d.moves)+1)] {
		names = m.apply(names)
	}
	images := map[string]image{}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if names[name] != nil {
			images[name] = f.file(names[name])
		}
	}
	return images
}

// writeImages makes the folder hold just these files. What has the name of one is
// written over, since new pages take longer.
func writeImages(folder string, images map[string]image) error {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if _, stays := images[entry.Name()]; !stays || !entry.Type().IsRegular() {
			err = errors.Join(err, os.RemoveAll(filepath.Join(folder, entry.Name())))
		}
	}
	for name, content := range images {
		err = errors.Join(err, content.write(filepath.Join(folder, name)))
	}
	return err
}

func (i image) write(path string) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(i.data)
	return errors.Join(err, file.Truncate(int64(len(i.data))), file.Truncate(i.size), file.Close())
}

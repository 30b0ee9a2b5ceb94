package page

import (
	"bytes"
	"hash/maphash"
	"slices"
	"strconv"
	"strings"

	"github.com/flowrun/flowrun/internal/web/wire"
)

// fragments cuts a page into its pieces: each is a tag and the text behind it.
// app.js cuts it in the same way.
func fragments(text string) []string {
	parts := make([]string, 0, strings.Count(text, "<")+1)
	for len(text) > 0 {
		end := strings.IndexByte(text[1:], '<') + 1
		if end == 0 {
			end = len(text)
		}
		parts = append(parts, text[:end])
		text = text[end:]
	}
	return parts
}

// differ finds what of a page is another one than before. Used by one goroutine.
type differ struct {
	old, now         []string
	oldSums, nowSums []uint64
	places           map[uint64][]int32 // of three fragments in old, by their sums
	out              bytes.Buffer
	from, count      int // the pieces of old that are to be written
	fresh            strings.Builder
}

// gram is how many fragments in a row are looked for: single ones, such as </td>,
// stand everywhere.
const gram = 3

// leastCopy is how long pieces must be together to be copied, in bytes: shorter
// ones are as cheap to send.
const leastCopy = 12

// longCopy is from how many fragments on a copy tells where the page goes on.
const longCopy = 40

// changes tells how the fragments of a page become those of another one: a JSON
// list of texts that are new, and of pairs of numbers, which are so many fragments
// of the old page from an index on.
func changes(old, now []string) []byte {
	d := &differ{old: old, now: now}
	head := 0
	for head < len(old) && head < len(now) && old[head] == now[head] {
		head++
	}
	tail := 0
	for tail < len(old)-head && tail < len(now)-head && old[len(old)-1-tail] == now[len(now)-1-tail] {
		tail++
	}
	d.index(head, len(old)-tail, len(now)-tail)
	d.out.WriteByte('[')
	d.keep(0, head)
	d.middle(head, len(now)-tail)
	d.keep(len(old)-tail, tail)
	d.writeKept()
	d.writeFresh()
	d.out.WriteByte(']')
	return d.out.Bytes()
}

// index notes where three fragments stand in old.
func (d *differ) index(head, oldEnd, nowEnd int) {
	seed := maphash.MakeSeed()
	sums := func(parts []string, end int) []uint64 {
		list := make([]uint64, len(parts))
		for i := max(head-1, 0); i < min(end+1, len(parts)); i++ {
			list[i] = maphash.String(seed, parts[i])
		}
		return list
	}
	d.oldSums, d.nowSums, d.places = sums(d.old, oldEnd+gram), sums(d.now, nowEnd+gram), map[uint64][]int32{}
	for i := head; i < oldEnd && i+gram <= len(d.old); i++ {
		sum := joined3(d.oldSums, i)
		d.places[sum] = append(d.places[sum], int32(i))
	}
}

func joined3(sums []uint64, at int) uint64 {
	const prime = 0x9E3779B97F4A7C15
	return (sums[at]*prime+sums[at+1])*prime + sums[at+2]
}

// middle goes through what stands between the parts that are alike at both ends.
func (d *differ) middle(at, end int) {
	shift, home := 0, 0 // of the place in old to that in now: at the last copy, and at the last long one
	for at < end {
		place, count := at+shift, d.alike(at+shift, at, end)
		if n := d.alike(at+home, at, end); n > count {
			place, count = at+home, n
		}
		for _, other := range d.near(at, at+home) {
			if n := d.alike(int(other), at, end); n > count {
				place, count = int(other), n
			}
		}
		if count == 0 || size(d.now[at:at+count]) < leastCopy {
			d.add(d.now[at])
			at++
			continue
		}
		d.keep(place, count)
		shift = place - at
		if count >= longCopy {
			home = shift
		}
		at += count
	}
}

// alike counts the fragments that are the same from two places on.
func (d *differ) alike(place, at, end int) int {
	n := 0
	for place >= 0 && place+n < len(d.old) && at+n < end && d.old[place+n] == d.now[at+n] {
		n++
	}
	return n
}

// near are the places of old where the next three fragments stand: of many those
// around the one that is expected.
func (d *differ) near(at, expected int) []int32 {
	const around = 8
	if at+gram > len(d.now) {
		return nil
	}
	places := d.places[joined3(d.nowSums, at)]
	i, _ := slices.BinarySearch(places, int32(expected))
	return places[max(i-around, 0):min(i+around, len(places))]
}

func size(parts []string) (n int) {
	for _, part := range parts {
		if n += len(part); n >= leastCopy {
			break
		}
	}
	return n
}

// keep takes fragments of old.
func (d *differ) keep(from, count int) {
	if count == 0 {
		return
	}
	if d.count > 0 && d.from+d.count == from && d.fresh.Len() == 0 {
		d.count += count
		return
	}
	d.writeKept()
	d.writeFresh()
	d.from, d.count = from, count
}

// add takes a new fragment.
func (d *differ) add(part string) {
	d.writeKept()
	d.fresh.WriteString(part)
}

func (d *differ) writeKept() {
	if d.count > 0 {
		d.comma()
		d.out.WriteString(strconv.Itoa(d.from) + "," + strconv.Itoa(d.count))
		d.count = 0
	}
}

func (d *differ) writeFresh() {
	if d.fresh.Len() > 0 {
		d.comma()
		d.out.Write(plainJSON(d.fresh.String()))
		d.fresh.Reset()
	}
}

func (d *differ) comma() {
	if d.out.Len() > 1 {
		d.out.WriteByte(',')
	}
}

// plainJSON is a text in JSON on one line, its tags as they are.
func plainJSON(text string) []byte {
	data, err := wire.EncodeJSON(text)
	if err != nil { // a text can always be encoded
		return []byte(`""`)
	}
	return bytes.TrimSuffix(data, []byte("\n"))
}

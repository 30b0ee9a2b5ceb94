//go:build linux && (amd64 || arm64)

package storefaults_test

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/flowrun/flowrun/engine/boltstore"
	"github.com/flowrun/flowrun/engine/boltstore/sealedpages"
	"github.com/flowrun/flowrun/engine/store"
	"github.com/flowrun/flowrun/internal/suitesize"
)

// restamp makes the seal beside a file fit it, as if the disk had changed what the file
// holds: nothing else leaves the kernel's times as they were. The meta pages stay those
// of the seal. A seal that is spoiled stays so.
func restamp(path string) error {
	beside, err := os.OpenFile(path+".seal", os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer beside.Close()
	seal, err := sealedpages.ReadSeal(beside)
	if err != nil {
		return nil
	}
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	now, err := sealedpages.IdentityOf(file)
	if err != nil {
		return err
	}
	now.Metas = seal.Metas
	seal.Identity = now
	return sealedpages.WriteSeal(beside, seal, sealedpages.NewSums(beside))
}

// behind looks at what no read has met: a check finds nothing, or one of the next opens
// refuses the file, since the scrub of the one before has come to it. A close compares
// 256 pages.
func (q *question) behind(options boltstore.Options, bySeal string) verdict {
	detail := check(q.Path, options)
	if detail == "" {
		return verdict{whole, bySeal}
	}
	info, err := os.Stat(q.Path)
	if err != nil {
		return verdict{broken, err.Error()}
	}
	for range info.Size()/pageSize/256 + 2 {
		file, err := boltstore.Open(q.Path, options)
		switch {
		case err == nil:
			_ = file.Close()
		case errors.Is(err, store.ErrCorrupt):
			return verdict{refused, bySeal + err.Error()}
		default:
			return verdict{broken, "open again: " + err.Error()}
		}
	}
	return verdict{changed, "nobody was told: " + detail}
}

// spoiltSeals damage what stands beside a file.
func spoiltSeals() map[string]mutator {
	return map[string]mutator{
		"flip a bit of the seal": func(r *rand.Rand, s *specimen, c []byte) []byte {
			s.seal[r.IntN(len(s.seal))] ^= 1 << r.IntN(8)
			return c
		},
		"cut the seal off": func(r *rand.Rand, s *specimen, c []byte) []byte {
			s.seal = s.seal[:r.IntN(len(s.seal))]
			return c
		},
	}
}

// The same damage as behind TestP14_DamageIsToldOrHarmless, in files that are opened by
// their seal: a page is compared before it is used, all others by the scrub.
func TestP14_DamageBehindASealIsToldOrHarmless(t *testing.T) {
	seed := testSeed(t)
	all := slices.DeleteFunc(specimens(t, seed), func(s *specimen) bool { return s.seal == nil })
	count := suitesize.Of(t, "FLOWRUN_CORRUPTION", 300)
	kinds := mutators()
	maps.Copy(kinds, spoiltSeals())
	names := slices.Sorted(maps.Keys(kinds))
	bySeal := make(map[string]int)
	tally := make(chan string, count)
	r := examine(t, func(each func(damaged)) {
		for i := range count {
			source := rand.New(rand.NewPCG(seed, uint64(i)))
			s, kind := *all[source.IntN(len(all))], names[i%len(names)]
			s.seal = slices.Clone(s.seal)
			content := kinds[kind](source, &s, slices.Clone(s.content))
			each(damaged{name: fmt.Sprintf("FLOWRUN_SEED=%d, file %d (%s, %s)", seed, i, kind, s.name), kind: kind, specimen: &s, content: content, seed: uint64(i)})
		}
	}, func(c *court, path string, d damaged) verdict {
		if err := os.WriteFile(path+".seal", d.specimen.seal, 0o600); err != nil {
			return verdict{broken, err.Error()}
		}
		v := c.ask(question{Path: path, Script: d.specimen.script, Acks: d.specimen.acks, Map: 64 << 10, Write: d.seed%2 == 0, Sealed: true})
		if strings.HasPrefix(v.Detail, "by its seal") {
			tally <- v.Verdict
		}
		return v
	}, whole, refused, told)
	close(tally)
	for verdict := range tally {
		bySeal[verdict]++
	}
	for _, fault := range r.faults {
		t.Error(fault)
	}
	t.Logf("%d files: %d changes not detected, %d crashes, %d hangs; opened by their seal: %v", count, r.total(changed), r.total(died), r.total(hung), bySeal)
	if count >= 100 && (bySeal[whole] == 0 || bySeal[told] == 0) {
		t.Error("no damaged file was opened by its seal")
	}
}

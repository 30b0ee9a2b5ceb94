package upkeep

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/flowrun/flowrun/engine/store"
	"github.com/flowrun/flowrun/engine/workspace"
)

// HistoryCut says that retention has removed runs of a workflow by their number,
// which by their age would still be kept.
type HistoryCut struct {
	Workflow string    `json:"workflow"`
	UpTo     time.Time `json:"up_to"` // runs that were accepted until then are not all there any more
	By       string    `json:"by"`    // max_runs or max_total
	Limit    int       `json:"limit"` // what that setting was
}

// cutPrefix stands before the workflow in the keys of cuts.
const cutPrefix = "history_cut/"

// noteCuts remembers by what number runs went that are younger than they would have
// to be. A cut is forgotten when age alone would have taken them.
func (u *Upkeep) noteCuts(removed []store.Removal, keep workspace.Retention, now time.Time) error {
	cuts := map[string]HistoryCut{}
	for _, one := range removed {
		if one.Cause == store.CauseAge || one.Child || now.Sub(one.Accepted) > keep.Keep || one.Accepted.Before(cuts[one.Workflow].UpTo) {
			continue
		}
		limit := keep.MaxRuns
		if one.Cause == store.CauseMaxTotal {
			limit = keep.MaxTotal
		}
		cuts[one.Workflow] = HistoryCut{Workflow: one.Workflow, UpTo: one.Accepted.UTC(), By: string(one.Cause), Limit: limit}
	}
	for workflow, cut := range cuts {
		if err := store.PutJSON(u.store.KV(), store.EngineBucket, cutPrefix+workflow, cut, nil); err != nil {
			return err
		}
	}
	return nil
}

// HistoryCuts returns the workflows whose history is shorter than `retention.keep`
// says, by name.
func (u *Upkeep) HistoryCuts() ([]HistoryCut, error) {
	cuts := []HistoryCut{}
	err := u.eachCut(u.config.Now(), func(key string, _ uint64, cut *HistoryCut) error {
		if cut != nil && cut.Workflow == strings.TrimPrefix(key, cutPrefix) {
			cuts = append(cuts, *cut)
		}
		return nil
	})
	if err != nil {
		return nil, u.Fault(err)
	}
	return cuts, nil
}

// eachCut visits the rows of cuts by their keys and versions; nil stands for one that
// age alone would have cut by now, or that can't be read.
func (u *Upkeep) eachCut(now time.Time, visit func(key string, version uint64, cut *HistoryCut) error) error {
	keys, err := u.store.KV().List(store.EngineBucket, cutPrefix)
	if err != nil {
		return err
	}
	keep := u.project.Retention().Keep
	for _, key := range keys {
		stored, version, ok, err := u.store.KV().Get(store.EngineBucket, key)
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		cut := new(HistoryCut)
		if json.Unmarshal(stored, cut) != nil || now.Sub(cut.UpTo) > keep {
			cut = nil
		}
		if err := visit(key, version, cut); err != nil {
			return err
		}
	}
	return nil
}

// forgetCuts drops what age alone would have cut by now.
func (u *Upkeep) forgetCuts(now time.Time) error {
	return u.eachCut(now, func(key string, version uint64, cut *HistoryCut) error {
		if cut != nil {
			return nil
		}
		return u.store.KV().Delete(store.EngineBucket, key, &version)
	})
}

package workspace

import (
	"cmp"
	"fmt"
	"time"

	"github.com/flowrun/flowrun/engine/project"
)

// The defaults of retention (docs/reliability.md, "Limits"): whichever keeps less.
// KeptRuns of each workflow stay whatever the settings say.
const (
	DefaultKeep     = 90 * 24 * time.Hour
	DefaultMaxRuns  = 1000
	DefaultMaxTotal = 100_000
	KeptRuns        = 20
)

// Retention is how long ended runs are kept: those that are older go, and of each
// workflow the oldest of those that are too many, what failed last. MaxTotal is a
// ceiling over all workflows; those with the most runs give theirs.
type Retention struct{ project.Retention }

// Retention returns what flowrun.yaml says, or the defaults.
func (p *Workspace) Retention() Retention {
	r := Retention{p.file.Retention}
	r.Keep = cmp.Or(max(r.Keep, 0), DefaultKeep)
	r.MaxRuns = cmp.Or(max(r.MaxRuns, 0), DefaultMaxRuns)
	r.MaxTotal = cmp.Or(max(r.MaxTotal, 0), max(DefaultMaxTotal, r.MaxRuns))
	return r
}

// String is how a message names it: "90d, 1000 runs of each workflow, 100000 of all".
func (r Retention) String() string {
	return fmt.Sprintf("%s, %d runs of each workflow, %d of all", r.KeepText(), r.MaxRuns, r.MaxTotal)
}

// KeepText writes Keep as flowrun.yaml does: 90d, 36h.
func (r Retention) KeepText() string {
	keep := r.Keep
	const day = 24 * time.Hour
	switch {
	case keep >= day && keep%day == 0:
		return fmt.Sprintf("%dd", keep/day)
	case keep%time.Hour == 0:
		return fmt.Sprintf("%dh", keep/time.Hour)
	}
	return keep.String()
}

package simulation

import (
	"testing"
)

// The suite must catch each of these: what it does not see broken, it does not
// show whole.
func TestControlTheSimulationCatchesWhatIsBroken(t *testing.T) {
	for name, broken := range map[string]suite{
		"an effect leaves before its record is durable": {faults: faults{effectsAtOnce: true}},
		"a replay passes over a record":                 {faults: faults{dropRecord: true}},
		"a once call is sent again after a crash":       {faults: faults{repeatOnce: true}},
		"a model that runs what is blocked":             {rules: rules{blockedRuns: true}},
		"a model to which continue is a failure":        {rules: rules{continueBlocks: true}},
		"a model that repeats once calls":               {rules: rules{onceRepeats: true}},
		"a model in which collect stops":                {rules: rules{collectStops: true}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const most = 400
			for seed := range uint64(most) {
				if v := broken.run(t.Context(), 1+seed, false); v.text != "" {
					t.Logf("caught by seed %d: %s", 1+seed, oneLine(v.text))
					return
				}
			}
			t.Errorf("%d seeds and nothing was seen", most)
		})
	}
}

package plan

import "slices"

// Levels numbers the steps of a list by the longest way to them: 1 is what waits for
// none of the list.
func Levels(steps []Step) map[string]int {
	byID, levels := map[string]*Step{}, map[string]int{}
	for i := range steps {
		byID[steps[i].ID] = &steps[i]
	}
	var level func(id string) int
	level = func(id string) int {
		step, ok := byID[id]
		if !ok {
			return 0
		}
		if found, done := levels[id]; done {
			return found
		}
		levels[id] = 1 // a cycle is refused by the checker; whoever asks must come to an end all the same
		deepest := 0
		for _, before := range slices.Concat(step.Needs, step.Reads) {
			deepest = max(deepest, level(before))
		}
		levels[id] = deepest + 1
		return deepest + 1
	}
	for i := range steps {
		level(steps[i].ID)
	}
	return levels
}

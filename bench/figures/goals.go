package figures

// goal is a line of the table: a figure of flowrun, that of the floor for the same work,
// and what is aimed at.
type goal struct {
	id, what, unit string
	ours           Series
	floor          Series  // nil = the floor has none
	most, least    float64 // of ours; 0 = no such goal
	times          float64 // at most so many times the floor, at least where rate is set
	rate           bool    // more is better
}

const (
	unaryMerged = "merged unary"
	unaryReads  = "reads unary"
	fullStore   = ", 100,000 runs"
)

// goals are those of the table, in its order.
func goals() []goal {
	var all []goal
	for _, part := range [][]goal{coldGoals(), stepGoals(), watcherGoals(), countGoals(), memoryGoals(), listGoals(), planGoals(), dataGoals()} {
		all = append(all, part...)
	}
	return all
}

func coldGoals() []goal {
	var all []goal
	for _, kind := range []struct {
		name, what  string
		most, times float64
	}{{"let", "one `let` step", 12, 0}, {"plugin", "one step in a bundled plugin", 25, 1.5}} {
		var stores []Series
		for _, store := range []string{"empty", "10,000 runs", "100,000 runs"} {
			s := ours("S1", kind.name+", "+store, milliseconds)
			stores = append(stores, s)
			all = append(all, goal{id: "S1", what: "cold `run`, " + kind.what + ", store: " + store, unit: "ms", ours: s, floor: floors("S1", kind.name, milliseconds), most: kind.most, times: kind.times})
		}
		all = append(all, goal{id: "S1", what: "the three stores differ by, " + kind.what, unit: "ms", ours: spread(stores...), most: 3})
	}
	return append(all, goal{id: "S1", what: "1,000 other processes on the machine: more by", unit: "ms", most: 3,
		ours: func(set Set) ([]float64, string) {
			beside, why := ours("S1", "plugin, beside 1,000 processes", milliseconds)(set)
			alone, _ := ours("S1", "plugin, alone", milliseconds)(set)
			if len(beside) == 0 || len(alone) == 0 {
				return nil, why
			}
			return []float64{Median(beside) - Median(alone)}, ""
		}})
}

func stepGoals() []goal {
	return []goal{
		{id: "S2", what: "1,000 steps with an effect, one after the other: a step", unit: "µs", ours: ours("S2", "", perUnit), floor: floors("S2", unaryMerged, perUnit), times: 1.25},
		{id: "S2", what: "... in the first run of a file, with its check", unit: "µs", ours: ours("S2", "first run of a file", perUnit), floor: floors("S2", unaryMerged, perUnit), times: 1.25},
		{id: "S2r", what: "1,000 reads, one after the other: a step", unit: "µs", ours: ours("S2r", "", perUnit), floor: floors("S2r", unaryReads, perUnit), times: 1.5},
		{id: "S2r", what: "... beside the floor with a stream", unit: "µs", ours: ours("S2r", "", perUnit), floor: floors("S2r", "reads stream", perUnit)},
		{id: "S2r", what: "... in the first run of a file, with its check", unit: "µs", ours: ours("S2r", "first run of a file", perUnit), floor: floors("S2r", unaryReads, perUnit), times: 1.5},
		{id: "S2l", what: "1,000 steps beside 100, one after the other", unit: "times", ours: paired(ours("S2l", "sequence of 1,000", milliseconds), ours("S2l", "sequence of 100", milliseconds), ratio), most: 11},
		{id: "S2l", what: "1,000 steps beside 100, at once", unit: "times", ours: paired(ours("S2l", "fan of 1,000", milliseconds), ours("S2l", "fan of 100", milliseconds), ratio), most: 11},
		{id: "S2l", what: "steps with a condition: the last fifth of 1,000 beside the first", unit: "times", ours: ours("S2l", "conditions", quotient(extra("last fifth ms", 1), extra("first fifth ms", 1))), most: 1.5},
		{id: "S3", what: "1,000 steps at once, young process", unit: "ms", ours: ours("S3", "young process", milliseconds), floor: floors("S3", unaryMerged, milliseconds), times: 2},
		{id: "S3", what: "1,000 steps at once, after ten runs", unit: "ms", ours: ours("S3", "after ten runs", milliseconds), floor: floors("S3", unaryMerged, milliseconds), times: 2},
		{id: "S4", what: "runs of 3 steps, 64 at a time", unit: "runs/s", ours: ours("S4", "64 at a time", perSecond), floor: floors("S4", unaryMerged, perSecond), times: 0.6, rate: true},
		{id: "S4", what: "the same, 99th of 100 runs", unit: "ms", ours: ours("S4", "64 at a time", tailMilliseconds), floor: floors("S4", unaryMerged, tailMilliseconds), most: 40},
		{id: "S4", what: "runs of 3 steps, one at a time", unit: "runs/s", ours: ours("S4", "one at a time", perSecond), floor: floors("S4", "merged unary, one at a time", perSecond), rate: true},
	}
}

// watcherGoals are about 50 readers of one run: the time, and what of the processors goes to
// the engine and to the readers, which share them.
func watcherGoals() []goal {
	var all []goal
	for _, kind := range []struct{ variant, what string }{
		{"50", "a run of 1,000 items with 50 watchers that have it packed"}, {"50, plain", "... that have it plain"}, {"50, unpacked", "... that unpack it and look through it here"},
	} {
		beside := func(m Metric) Series {
			return paired(ours("watchers", kind.variant, m), ours("watchers", "none", m), ratio)
		}
		most := 1.3
		if kind.variant == "50, unpacked" {
			most = 0 // their own time is most of it
		}
		all = append(all,
			goal{what: kind.what + ", beside none", unit: "times", ours: beside(milliseconds), most: most},
			goal{what: "... processor time of the engine, beside none", unit: "times", ours: beside(cpuMilliseconds)},
			goal{what: "... processor time of the readers, which share the processors", unit: "ms", ours: ours("watchers", kind.variant, extra("readers CPU ms", 1))})
	}
	return all
}

// perStepOfRun is a figure of a run by its three steps.
func perStepOfRun(m Metric) Metric {
	return func(s Sample) (float64, bool) {
		value, ok := m(s)
		return value / 3, ok
	}
}

func countGoals() []goal {
	return []goal{
		{id: "S9", what: "fsyncs a step, with an effect", unit: "", ours: ours("S2", "", fsyncsEach), floor: floors("S2", unaryMerged, fsyncsEach), most: 2.1},
		{id: "S9", what: "fsyncs a step, reads", unit: "", ours: ours("S2r", "", fsyncsEach), floor: floors("S2r", unaryReads, fsyncsEach), most: 0.1},
		{id: "S9", what: "fsyncs a step, 64 runs at a time", unit: "", ours: ours("S4", "64 at a time", perStepOfRun(fsyncsEach)), floor: floors("S4", unaryMerged, perStepOfRun(fsyncsEach)), most: 0.1},
		{id: "S9", what: "written a step, with an effect", unit: "KiB", ours: ours("S2", "", writtenEach), floor: floors("S2", unaryMerged, writtenEach)},
		{id: "S9", what: "written a step, reads", unit: "KiB", ours: ours("S2r", "", writtenEach), floor: floors("S2r", unaryReads, writtenEach)},
		{id: "S9", what: "written a step, 64 runs at a time", unit: "KiB", ours: ours("S4", "64 at a time", perStepOfRun(writtenEach)), floor: floors("S4", unaryMerged, perStepOfRun(writtenEach)), most: 4},
		{id: "S9", what: "fsyncs a step with an effect, seen by a tracer", unit: "", ours: ours("S9", "sequential writes", fsyncsEach), most: 2.1},
		{id: "S9", what: "fsyncs a step, 64 runs at a time, seen by a tracer", unit: "", ours: ours("S9", "64 at a time", fsyncsEach), most: 0.1},
		{id: "", what: "allocations a step, with an effect", unit: "", ours: ours("S2", "", allocsEach), floor: floors("S2", unaryMerged, allocsEach), most: 250},
		{id: "", what: "allocations a step, reads", unit: "", ours: ours("S2r", "", allocsEach), floor: floors("S2r", unaryReads, allocsEach), most: 200},
		{id: "", what: "allocations a step, 1,000 at once", unit: "", ours: ours("S3", "after ten runs", allocsEach), floor: floors("S3", unaryMerged, allocsEach), most: 200},
		{id: "", what: "allocations a run of 3 steps, 64 at a time", unit: "", ours: ours("S4", "64 at a time", allocsEach), floor: floors("S4", unaryMerged, allocsEach), most: 800},
		{id: "", what: "allocated a step, with an effect", unit: "KiB", ours: ours("S2", "", allocBytesEach), floor: floors("S2", unaryMerged, allocBytesEach), most: 20},
	}
}

func memoryGoals() []goal {
	const mebibyte = 1 << 20
	return []goal{
		{id: "S5", what: "memory of a server that idles (RssAnon), 10 schedules: at most", unit: "MiB", ours: ours("S5", "idle", anonymous), most: 25},
		{id: "S5", what: "the same on a store of 100,000 runs, from its start on: at most", unit: "MiB", ours: ours("S5", "idle"+fullStore, anonymous), most: 25},
		{id: "S5", what: "100,000 stored runs and a run of 10,000 items: at most", unit: "MiB", ours: ours("S5", "load"+fullStore, anonymous), most: 80},
		{id: "S5", what: "a plugin, after 1,000 calls", unit: "MiB", ours: ours("S2", "", extra("plugin RssAnon", mebibyte)), most: 20},
	}
}

func listGoals() []goal {
	var all []goal
	for _, store := range []string{"10,000 runs", "100,000 runs"} {
		all = append(all,
			goal{id: "S6", what: "the newest 50 of " + store + ": API", unit: "ms", ours: ours("S6", "API, "+store, milliseconds), most: 2},
			goal{id: "S6", what: "the same, command beside a server", unit: "ms", ours: ours("S6", "command beside a server, "+store, milliseconds), most: 25},
			goal{id: "S6", what: "the same, command that owns the store", unit: "ms", ours: ours("S6", "command that owns the store, "+store, milliseconds), most: 25})
	}
	return append(all,
		goal{id: "S7", what: "a server is ready on 1 GiB with 1,000 active runs, after a clean end", unit: "ms", ours: ours("S7", "after a clean end", milliseconds), most: 50},
		goal{id: "S7", what: "the same after a kill", unit: "ms", ours: ours("S7", "after a kill", milliseconds), most: 1500},
		goal{id: "S12", what: "a step with an effect after retention took 90,000 runs, beside a small store", unit: "times", most: 1.3,
			ours: paired(ours("S12", "after retention", perUnit), ours("S12", "a small store", perUnit), ratio)},
		goal{id: "S12", what: "the store's file then, which does not shrink by itself, beside its live data", unit: "times", ours: ours("S12", "after retention", quotient(extra("file bytes", 1), extra("live bytes", 1)))},
	)
}

func planGoals() []goal {
	return []goal{
		{id: "S10", what: "check and plan 1,000 steps, beside the parse of their file", unit: "times", ours: ours("S10", "in the process", quotient(milliseconds, extra("parse ms", 1))), most: 2},
		{id: "S10", what: "the same", unit: "ms", ours: ours("S10", "in the process", milliseconds), most: 45},
		{id: "S10", what: "`validate` of 250 steps that need 200 others each: processor time more than for one step", unit: "ms", most: 200,
			ours: paired(ours("S10", "validate needing", cpuMilliseconds), ours("S10", "validate small", cpuMilliseconds), difference)},
	}
}

func dataGoals() []goal {
	const mebibyte = 1 << 20
	var all []goal
	for _, rows := range []string{"10,000", "50,000"} {
		read := func(m Metric) Series { return ours("data", "read, "+rows+" rows", m) }
		for _, kind := range []string{"filter", "map", "dedupe", "loopfilter", "loop"} {
			this := func(m Metric) Series { return ours("data", kind+", "+rows+" rows", m) }
			time := goal{id: "", what: kind + " over " + rows + " rows of 300 bytes, more than to read them", unit: "ms", ours: paired(this(milliseconds), read(milliseconds), difference)}
			if kind == "filter" || kind == "map" || kind == "dedupe" {
				time.most = 250 // a loop is more than an expression
			}
			all = append(all, time,
				goal{id: "", what: "... memory more (RssAnon)", unit: "MiB", ours: paired(this(anonymous), read(anonymous), difference), most: 64})
			if kind == "filter" || kind == "map" {
				all = append(all, goal{id: "", what: "... in use in the store more, in all", unit: "MiB", ours: this(extra("store growth", mebibyte)), most: 2 * growth(rows)})
			}
		}
	}
	return all
}

// growth is how many MiB rows are.
func growth(rows string) float64 {
	if rows == "10,000" {
		return 10_000 * 300.0 / (1 << 20)
	}
	return 50_000 * 300.0 / (1 << 20)
}

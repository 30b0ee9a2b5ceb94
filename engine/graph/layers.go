package graph

import (
	"cmp"
	"slices"

	"github.com/flowrun/flowrun/engine/plan"
)

// Distances of the drawing, in pixels. All are even, so that halves are whole.
const (
	layerGap  = 44 // between two layers: arrows bend in it
	nodeGap   = 24 // between two boxes of a layer
	routeSize = 18 // width that an arrow takes where it passes a layer
	sweeps    = 12
)

// frame is a list of steps with places: a workflow's, a loop's or a handler's.
type frame struct {
	boxes  []*box // in the order of the file
	edges  []*edge
	width  int
	height int
}

// box is one step. x and y are those of its upper left corner in its frame.
type box struct {
	step       *plan.Step
	path       string // loops[key] are not known here: "each.one"
	title, sub string
	effect     plan.Effect // "" = none to show
	notes      []string    // conditions and the like, one a line
	inner      *frame      // of a loop
	innerY     int
	rank       int // of its layer, by the longest way to it
	x, y, w, h int
}

// edge is what a step waits for. points are the places that it passes, in pairs:
// the lower end of one layer and the upper end of the next.
type edge struct {
	from, to *box
	reads    bool // inferred from what the step reads
	points   []point
}

type point struct{ x, y int }

// slot is a place in a layer: a box, or where an arrow passes.
type slot struct {
	box    *box
	edge   *edge // of a passage
	order  float64
	center float64
	width  int
	above  []*slot
	below  []*slot
}

// lay gives the boxes of a frame their places: each below all that it waits for,
// in layers by the longest way, ordered so that few arrows cross. The same
// frame always gets the same places.
func (f *frame) lay() {
	layers := f.slots()
	order(layers)
	place(layers)
	f.settle(layers)
}

// slots puts the boxes into layers, and a passage into every layer that an edge
// passes.
func (f *frame) slots() [][]*slot {
	deepest := 0
	for _, b := range f.boxes {
		deepest = max(deepest, b.rank)
	}
	layers := make([][]*slot, deepest+1)
	own := map[*box]*slot{}
	for _, b := range f.boxes {
		s := &slot{box: b, width: b.w}
		own[b] = s
		layers[b.rank] = append(layers[b.rank], s)
	}
	for _, e := range f.edges {
		last := own[e.from]
		for rank := e.from.rank + 1; rank < e.to.rank; rank++ {
			passage := &slot{edge: e, width: routeSize}
			layers[rank] = append(layers[rank], passage)
			join(last, passage)
			last = passage
		}
		if e.to.rank > e.from.rank {
			join(last, own[e.to])
		}
	}
	return layers
}

func join(above, below *slot) {
	above.below = append(above.below, below)
	below.above = append(below.above, above)
}

// order sorts each layer by the mean place of its neighbours, down and up
// again, and keeps the order with the fewest crossings.
func order(layers [][]*slot) {
	number(layers)
	best, fewest := snapshot(layers), crossings(layers)
	for sweep := 0; sweep < sweeps && fewest > 0; sweep++ {
		down := sweep%2 == 0
		for i := range layers {
			if !down {
				i = len(layers) - 1 - i
			}
			sortLayer(layers[i], down)
		}
		if count := crossings(layers); count < fewest {
			best, fewest = snapshot(layers), count
		}
	}
	copy(layers, best)
	number(layers)
}

func sortLayer(layer []*slot, down bool) {
	for i, s := range layer {
		s.order = mean(s.neighbours(down), float64(i))
	}
	slices.SortStableFunc(layer, func(a, b *slot) int { return cmp.Compare(a.order, b.order) })
	number([][]*slot{layer})
}

// neighbours are the slots of the layer above, or below.
func (s *slot) neighbours(above bool) []*slot {
	if above {
		return s.above
	}
	return s.below
}

// mean is the mean of the centers of slots, or what stands for that of none.
func mean(slots []*slot, none float64) float64 {
	if len(slots) == 0 {
		return none
	}
	sum := 0.0
	for _, s := range slots {
		sum += s.center
	}
	return sum / float64(len(slots))
}

func number(layers [][]*slot) {
	for _, layer := range layers {
		for i, s := range layer {
			s.center = float64(i)
		}
	}
}

func snapshot(layers [][]*slot) [][]*slot {
	copies := make([][]*slot, len(layers))
	for i, layer := range layers {
		copies[i] = slices.Clone(layer)
	}
	return copies
}

// crossings counts the pairs of arrows that cross between two layers.
func crossings(layers [][]*slot) int {
	count := 0
	for _, layer := range layers {
		var ends [][2]float64
		for _, s := range layer {
			for _, below := range s.below {
				ends = append(ends, [2]float64{s.center, below.center})
			}
		}
		for i, a := range ends {
			for _, b := range ends[i+1:] {
				if (a[0]-b[0])*(a[1]-b[1]) < 0 {
					count++
				}
			}
		}
	}
	return count
}

// place finds the columns: each slot wants to stand below (then above) the mean
// of its neighbours, and no two may come nearer than their gap.
func place(layers [][]*slot) {
	for _, layer := range layers {
		spread(layer, make([]float64, len(layer)))
	}
	for sweep := range sweeps {
		for i := range layers {
			down := sweep%2 == 0
			if !down {
				i = len(layers) - 1 - i
			}
			wanted := make([]float64, len(layers[i]))
			for j, s := range layers[i] {
				neighbours := s.neighbours(down)
				if sweep == sweeps-1 {
					neighbours = slices.Concat(s.above, s.below)
				}
				wanted[j] = mean(neighbours, s.center)
			}
			alone(layers[i], wanted)
			spread(layers[i], wanted)
		}
	}
}

// alone puts slots that nothing is joined to beside their neighbours.
func alone(layer []*slot, wanted []float64) {
	isAlone := func(i int) bool { return len(layer[i].above)+len(layer[i].below) == 0 }
	distance := func(i int) float64 { return float64(layer[i-1].width+layer[i].width)/2 + nodeGap }
	first := 0
	for first < len(layer) && isAlone(first) {
		first++
	}
	if first == len(layer) {
		return
	}
	for i := first; i > 0; i-- {
		wanted[i-1] = wanted[i] - distance(i)
	}
	for i := first + 1; i < len(layer); i++ {
		if isAlone(i) {
			wanted[i] = wanted[i-1] + distance(i)
		}
	}
}

// spread gives the slots of a layer the centers that are nearest to the wanted
// ones (least squares) and far enough from each other: with the gaps taken out
// that is a monotone fit, found by pooling neighbours that are out of order.
func spread(layer []*slot, wanted []float64) {
	type pool struct {
		sum   float64
		count int
	}
	var pools []pool
	offset, offsets := 0.0, make([]float64, len(layer))
	for i := range layer {
		if i > 0 {
			offset += float64(layer[i-1].width+layer[i].width)/2 + nodeGap
		}
		offsets[i] = offset
		pools = append(pools, pool{wanted[i] - offset, 1})
		for n := len(pools); n > 1 && pools[n-2].sum/float64(pools[n-2].count) >= pools[n-1].sum/float64(pools[n-1].count); n-- {
			pools[n-2].sum += pools[n-1].sum
			pools[n-2].count += pools[n-1].count
			pools = pools[:n-1]
		}
	}
	i := 0
	for _, p := range pools {
		for range p.count {
			layer[i].center = p.sum/float64(p.count) + offsets[i]
			i++
		}
	}
}

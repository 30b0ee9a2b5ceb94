package graph

import (
	"cmp"
	"math"
	"slices"
)

// settle turns centers into places, measures the frame and routes its arrows.
func (f *frame) settle(layers [][]*slot) {
	left, right := math.MaxInt, math.MinInt
	for _, layer := range layers {
		for _, s := range layer {
			x := int(math.Floor(s.center+0.5)) - s.width/2
			left, right = min(left, x), max(right, x+s.width)
		}
	}
	if left > right {
		left, right = 0, 0
	}
	passages := map[*edge][]point{}
	y := 0
	for i, layer := range layers {
		height := 0
		for _, s := range layer {
			if s.box != nil {
				height = max(height, s.box.h)
			}
		}
		for _, s := range layer {
			x := int(math.Floor(s.center+0.5)) - left
			if s.box != nil {
				s.box.x, s.box.y = x-s.width/2, y
				continue
			}
			passages[s.edge] = append(passages[s.edge], point{x, y}, point{x, y + height})
		}
		for _, s := range layer {
			for _, e := range f.edges {
				if e.from == s.box && s.box != nil {
					e.points = []point{{0, s.box.y + s.box.h}, {0, y + height}}
				}
			}
		}
		y += height
		if i < len(layers)-1 {
			y += layerGap
		}
	}
	f.width, f.height = right-left, y
	for _, e := range f.edges {
		e.points = append(e.points, passages[e]...)
		e.points = append(e.points, point{0, e.to.y})
	}
	f.ports()
}

// ports spreads the ends of arrows over the edges of their boxes, in the order of
// where the arrows come from, so that two arrows never share an end.
func (f *frame) ports() {
	for _, b := range f.boxes {
		var in, out []*edge
		for _, e := range f.edges {
			if e.to == b {
				in = append(in, e)
			}
			if e.from == b {
				out = append(out, e)
			}
		}
		slices.SortStableFunc(in, func(x, y *edge) int { return cmp.Compare(x.comesFrom(), y.comesFrom()) })
		slices.SortStableFunc(out, func(x, y *edge) int { return cmp.Compare(x.goesTo(), y.goesTo()) })
		for i, e := range in {
			e.points[len(e.points)-1].x = port(b, i, len(in))
		}
		for i, e := range out {
			x := port(b, i, len(out))
			e.points[0].x, e.points[1].x = x, x
		}
	}
}

// comesFrom is the column of an arrow one layer above its end.
func (e *edge) comesFrom() int {
	if len(e.points) > 3 {
		return e.points[len(e.points)-2].x
	}
	return e.from.x + e.from.w/2
}

// goesTo is the column of an arrow one layer below its start.
func (e *edge) goesTo() int {
	if len(e.points) > 3 {
		return e.points[2].x
	}
	return e.to.x + e.to.w/2
}

func port(b *box, i, of int) int {
	step := min(22, b.w/(of+1))
	return b.x + b.w/2 + step*i - step*(of-1)/2
}

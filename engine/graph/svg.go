package graph

import (
	"fmt"
	"strings"

	"github.com/flowrun/flowrun/engine/plan"
)

const margin = 24

// SVG draws the workflow as one SVG document: steps as boxes, loops as boxes
// around theirs, solid arrows for order and dashed ones for data, effects as
// labels. It has no script, loads nothing, follows the reader's choice of light
// or dark, and is the same for the same workflow. Each step's group has its path
// in data-step ("each.one" for a step of a loop).
func SVG(w *plan.Workflow) string { return Draw(w, Options{}) }

// Options say how a workflow is drawn. Steps are named by their path in
// data-step: "each.one" for a step of a loop, "finally.end" for one of a handler.
type Options struct {
	// Bare leaves out the style sheet and the name, for a page that has both: the
	// classes are those of SVG.
	Bare bool
	// States are shown as tags on the boxes. A step that has none is not reached.
	States map[string]State
	// Link is where a click on a step leads; "" = nowhere. nil = no step has a link.
	Link func(path string) string
}

// Draw is SVG with options.
func Draw(w *plan.Workflow, o Options) string {
	d := &drawing{w: w, prefix: "fr-" + slug(w.Name), options: o}
	main := newFrame(w, w.Steps, "")
	y := margin
	if o.Bare {
		y = margin / 2
	} else {
		y = d.header(y)
	}
	width := d.width
	d.frame(main, margin, y)
	y += main.height
	width = max(width, main.width+2*margin)
	handlersWidth, y := d.handlers(max(main.width, minRow), y)
	width = max(width, handlersWidth)
	legendWidth, y := d.legend(y + layerGap/2)
	return d.document(max(width, legendWidth), y+margin)
}

// minRow is how wide a row of handlers may be at least.
const minRow = 560

// handlers draws the lists that follow the run's end, side by side as far as
// there is room.
func (d *drawing) handlers(room, y int) (width, below int) {
	x, height := margin, 0
	for _, list := range handlers(d.w) {
		f := newFrame(d.w, list.steps, list.name+".")
		boxWidth, boxHeight := max(f.width+2*loopPad, textWidth(list.name, titleWide)+2*padX), f.height+loopPad+titleLine+2*padY
		if x == margin || x+boxWidth > margin+room {
			y += height + layerGap/2
			x, height = margin, 0
		}
		fmt.Fprintf(&d.body, "<g class=\"handler\"><rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" rx=\"10\"/>", x, y, boxWidth, boxHeight)
		d.text("title", x+padX, y+padY+14, list.name, titleWide)
		d.body.WriteString("</g>\n")
		d.frame(f, x+loopPad, y+titleLine+2*padY)
		width, height = max(width, x+boxWidth+margin), max(height, boxHeight)
		x += boxWidth + nodeGap
	}
	return width, y + height
}

// drawing collects the parts of a document.
type drawing struct {
	w       *plan.Workflow
	prefix  string // of ids, so that several drawings may stand on one page
	body    strings.Builder
	width   int
	options Options
}

func (d *drawing) document(width, height int) string {
	var out strings.Builder
	role := "img"
	if d.options.Link != nil {
		role = "group" // its links are read one by one
	}
	fmt.Fprintf(&out, "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"%s\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\" role=\"%s\" aria-labelledby=\"%s-title %s-desc\">\n",
		d.prefix, width, height, width, height, role, d.prefix, d.prefix)
	fmt.Fprintf(&out, "<title id=\"%s-title\">%s</title>\n<desc id=\"%s-desc\">%s</desc>\n",
		d.prefix, escapeXML("Workflow "+d.w.Name), d.prefix, escapeXML(summary(d.w)))
	if !d.options.Bare {
		sheet := style
		if d.options.States != nil {
			sheet = strings.Replace(style, "</style>", stateStyle+"</style>", 1)
		}
		out.WriteString(strings.ReplaceAll(sheet, "ROOT", "."+d.prefix))
	}
	fmt.Fprintf(&out, "<defs><marker id=\"%s-arrow\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"8\" markerHeight=\"8\" orient=\"auto\"><path class=\"head\" d=\"M0 0.5 8 4 0 7.5Z\"/></marker></defs>\n", d.prefix)
	if !d.options.Bare {
		fmt.Fprintf(&out, "<rect class=\"page\" width=\"%d\" height=\"%d\"/>\n", width, height)
	}
	out.WriteString(d.body.String())
	out.WriteString("</svg>\n")
	return out.String()
}

// header writes the name and what the workflow is for.
func (d *drawing) header(y int) int {
	d.text("name", margin, y+14, d.w.Name, 9.7)
	d.width = textWidth(d.w.Name, 9.7) + 2*margin
	y += 26
	if d.w.Description != "" {
		text := oneLine(d.w.Description)
		if len([]rune(text)) > 90 {
			text = strings.TrimRight(string([]rune(text)[:89]), " ") + "…"
		}
		d.text("sub", margin, y+10, text, charWide)
		d.width = max(d.width, textWidth(text, charWide)+2*margin)
		y += 22
	}
	return y + 8
}

// frame draws a list of steps at a place: arrows first, so that boxes lie above
// them.
func (d *drawing) frame(f *frame, x, y int) {
	for _, e := range f.edges {
		class, kind := "edge", "needs"
		if e.reads {
			class, kind = "edge reads", "reads"
		}
		fmt.Fprintf(&d.body, "<path class=\"%s\" d=\"%s\" marker-end=\"url(#%s-arrow)\"><title>%s</title></path>\n",
			class, route(e, x, y), d.prefix, escapeXML(e.to.title+" "+kind+" "+e.from.title))
	}
	for _, b := range f.boxes {
		d.box(b, x, y)
	}
}

// route is an arrow's way: straight past a layer, bent between two.
func route(e *edge, x, y int) string {
	var way strings.Builder
	last := e.points[0]
	fmt.Fprintf(&way, "M%d %d", x+last.x, y+last.y)
	for i, p := range e.points[1:] {
		switch {
		case p == last:
		case i%2 == 0: // inside a layer
			fmt.Fprintf(&way, "V%d", y+p.y)
		default:
			middle := (last.y + p.y) / 2
			fmt.Fprintf(&way, "C%d %d %d %d %d %d", x+last.x, y+middle, x+p.x, y+middle, x+p.x, y+p.y)
		}
		last = p
	}
	return way.String()
}

func (d *drawing) box(b *box, dx, dy int) {
	x, y := dx+b.x, dy+b.y
	class := "step " + string(b.step.Kind)
	if len(conditions(b.step)) > 0 {
		class += " maybe"
	}
	hover := b.hover()
	state, reached := d.options.States[b.path]
	switch {
	case reached:
		class += " in " + state.tone()
		hover += "; " + state.words()
	case d.options.States != nil:
		class += " out"
	}
	link := d.link(b.path)
	if link != "" {
		fmt.Fprintf(&d.body, "<a href=\"%s\">", escapeXML(link)) // its name is what stands in it, the title first
	}
	fmt.Fprintf(&d.body, "<g class=\"%s\" data-step=\"%s\"><title>%s</title>", class, escapeXML(b.path), escapeXML(hover))
	fmt.Fprintf(&d.body, "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" rx=\"8\"/>", x, y, b.w, b.h)
	line := y + padY + 14
	d.text("title", x+padX, line, cut(b.title), titleWide)
	if b.effect != "" {
		d.pill(x+b.w-padX-pillWidth(b.effect), line-13, b.effect)
	}
	line += titleLine - 2
	for i, text := range b.lines() {
		class := "note"
		if i == 0 && b.sub != "" {
			class = "sub"
		}
		d.text(class, x+padX, line, text, charWide)
		line += textLine
	}
	if reached {
		d.tag(x+b.w, y+b.h, state)
	}
	d.body.WriteString("</g>")
	if link != "" {
		d.body.WriteString("</a>")
	}
	d.body.WriteString("\n")
	if b.inner != nil {
		d.frame(b.inner, x+(b.w-b.inner.width)/2, y+b.innerY)
	}
}

// hover is what a box says in full.
func (b *box) hover() string {
	parts := []string{b.title}
	if b.sub != "" {
		parts = append(parts, b.sub)
	}
	if b.effect != "" {
		parts = append(parts, "effect "+string(b.effect))
	}
	return strings.Join(append(parts, b.notes...), "; ")
}

func (d *drawing) pill(x, y int, effect plan.Effect) {
	width := pillWidth(effect)
	fmt.Fprintf(&d.body, "<g class=\"pill %s\"><rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"17\" rx=\"8\"/>", effect, x, y, width)
	d.text("", x+pillPad/2, y+12, string(effect), pillWide)
	d.body.WriteString("</g>")
}

// text writes one line. Its length is fixed, so that it fits whatever font a
// reader has.
func (d *drawing) text(class string, x, y int, text string, letter float64) {
	if text == "" {
		return
	}
	if class != "" {
		class = " class=\"" + class + "\""
	}
	fmt.Fprintf(&d.body, "<text%s x=\"%d\" y=\"%d\" textLength=\"%d\" lengthAdjust=\"spacingAndGlyphs\">%s</text>",
		class, x, y, textWidth(text, letter), escapeXML(text))
}

// legend explains lines and labels.
func (d *drawing) legend(y int) (width, below int) {
	x := margin
	d.body.WriteString("<g class=\"legend\">")
	entry := func(class, text string) {
		fmt.Fprintf(&d.body, "<path class=\"%s\" d=\"M%d %dH%d\"/>", class, x, y+8, x+30)
		d.text("sub", x+38, y+12, text, charWide)
		x += 38 + textWidth(text, charWide) + 22
	}
	entry("edge", "order")
	entry("edge reads", "reads its data")
	for _, effect := range []plan.Effect{plan.EffectRead, plan.EffectIdempotent, plan.EffectKeyed, plan.EffectOnce} {
		if hasEffect(d.w, effect) {
			d.pill(x, y-1, effect)
			x += pillWidth(effect) + 8
		}
	}
	if d.options.warns() {
		const text = "ended, but items failed"
		fmt.Fprintf(&d.body, "<g class=\"tag %s\">", warnClass)
		d.mark(x+14, y+1, warnMark)
		d.body.WriteString("</g>")
		d.text("sub", x+34, y+12, text, charWide)
		x += 34 + textWidth(text, charWide) + 22
	}
	d.body.WriteString("</g>\n")
	return x + margin, y + 17
}

func hasEffect(w *plan.Workflow, effect plan.Effect) bool {
	for _, action := range w.Actions {
		if action.Plugin != "core" && action.Effect == effect {
			return true
		}
	}
	return false
}

// summary says in words what the drawing shows, for those who don't see it.
func summary(w *plan.Workflow) string {
	var parts []string
	for i := range w.Steps {
		step := &w.Steps[i]
		text := step.ID + " (" + describe(step) + ")"
		if waits := append(append([]string{}, step.Needs...), step.Reads...); len(waits) > 0 {
			text += " after " + strings.Join(waits, ", ")
		}
		parts = append(parts, text)
	}
	return fmt.Sprintf("%d steps: %s", len(w.Steps), strings.Join(parts, "; "))
}

// slug makes a part of an XML id and a CSS class of a name.
func slug(name string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' {
			return r
		}
		return '-'
	}, name)
}

// escapeXML keeps a text inside its element or attribute; what XML can't hold is
// replaced.
func escapeXML(text string) string {
	text = strings.Map(func(r rune) rune {
		if r < ' ' && r != '\t' && r != '\n' || r == 0xFFFE || r == 0xFFFF {
			return '\uFFFD'
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD"))
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "'", "&#39;").Replace(text)
}

// style has the colours of both modes; every text has a contrast of 4.5 or more,
// every line that carries meaning one of 3.
const style = `<style>
ROOT{--page:#ffffff;--ink:#1b2430;--mute:#566173;--line:#7c899c;--box:#f5f7fa;--rim:#c3ccd8;--loop:#fbfcfe;--cond:#8a5a00;
--read:#566173;--idem:#0b61a4;--keyed:#6b3fa0;--once:#b3261e;font:12px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace}
@media (prefers-color-scheme:dark){ROOT{--page:#12171f;--ink:#e6ebf2;--mute:#a3afc0;--line:#6d7a8d;--box:#1c2430;--rim:#3a4657;--loop:#161d27;--cond:#e0b35a;
--read:#a3afc0;--idem:#6cb6f5;--keyed:#c3a1f0;--once:#ff8a80}}
ROOT .page{fill:var(--page)}ROOT text{fill:var(--ink)}ROOT .name{font-size:16px;font-weight:700}
ROOT .title{font-size:13px;font-weight:700}ROOT .sub{fill:var(--mute)}ROOT .note{fill:var(--cond)}
ROOT .step>rect{fill:var(--box);stroke:var(--rim);stroke-width:1.2}ROOT .loop>rect{fill:var(--loop);stroke:var(--line)}
ROOT .maybe>rect{stroke:var(--cond)}ROOT .handler>rect{fill:none;stroke:var(--rim);stroke-dasharray:2 4}
ROOT .edge{fill:none;stroke:var(--line);stroke-width:1.4}ROOT .reads{stroke-dasharray:5 4}ROOT .head{fill:var(--line)}
ROOT .pill text{font-size:10px}ROOT .pill rect{fill:none;stroke:var(--read)}ROOT .pill text{fill:var(--read)}
ROOT .idempotent rect{stroke:var(--idem)}ROOT .idempotent text{fill:var(--idem)}
ROOT .keyed rect{stroke:var(--keyed)}ROOT .keyed text{fill:var(--keyed)}
ROOT .once rect{stroke:var(--once)}ROOT .once text{fill:var(--once)}
</style>
`

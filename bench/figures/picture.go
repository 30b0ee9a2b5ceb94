package figures

import (
	"encoding/xml"
	"fmt"
	"math"
	"strings"
)

// The sizes of the picture, in pixels.
const (
	pictureWidth = 860
	labelWidth   = 250
	barHeight    = 18
	barStep      = 24
	panelHead    = 44
	barWidth     = pictureWidth - labelWidth - 110
)

// bar is one of a panel.
type bar struct {
	label string
	value float64
}

// colours of bars: the floor, flowrun, all others.
func colour(label string) string {
	switch label {
	case "floor":
		return "#9aa5b1"
	case "flowrun":
		return "#0f766e"
	}
	return "#c2703d"
}

// Picture draws what flowrun, the floor and the peers do with the same work, as SVG: a
// panel for each work, with bars on a logarithmic scale, since the programs differ by
// factors. The same samples give the same bytes. "" where nothing was measured.
func Picture(samples []Sample) string {
	var body strings.Builder
	y := 12
	for _, c := range columns()[:4] {
		var bars []bar
		for _, program := range programsOf(samples) {
			if v := c.value(samples, program); v > 0 {
				bars = append(bars, bar{program, v})
			}
		}
		if len(bars) > 0 {
			y = panel(&body, y, c, bars)
		}
	}
	if body.Len() == 0 {
		return ""
	}
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %[1]d %[2]d" role="img" font-family="system-ui, sans-serif" font-size="13">
<title>flowrun beside the floor and its peers</title>
<rect width="100%%" height="100%%" fill="#ffffff"/>
%s</svg>
`, pictureWidth, y+8, body.String())
}

// panel draws one work below y and returns where the next one begins.
func panel(body *strings.Builder, y int, c column, bars []bar) int {
	better := "shorter is better"
	if c.rate {
		better = "longer is better"
	}
	fmt.Fprintf(body, `<text x="12" y="%d" font-size="15" font-weight="600" fill="#1f2933">%s</text><text x="%d" y="%[1]d" text-anchor="end" fill="#52606d">%[4]s, %[5]s, logarithmic</text>`+"\n",
		y+18, escaped(c.heading), pictureWidth-12, escaped(c.unit), better)
	y += panelHead - 12
	low, high := scale(bars)
	for _, b := range bars {
		width := max(2, int(math.Round(barWidth*(math.Log10(b.value)-low)/(high-low))))
		fmt.Fprintf(body, `<text x="%d" y="%d" text-anchor="end" fill="#1f2933">%s</text><rect x="%d" y="%d" width="%d" height="%d" rx="2" fill="%s"/><text x="%d" y="%[2]d" fill="#1f2933">%[10]s</text>`+"\n",
			labelWidth-10, y+14, escaped(b.label), labelWidth, y, width, barHeight, colour(b.label), labelWidth+width+6, escaped(number(b.value)+" "+c.unit))
		y += barStep
	}
	return y + 14
}

// scale is the range of the bars, as powers of ten: it begins below the shortest, so that
// it is seen.
func scale(bars []bar) (low, high float64) {
	low, high = math.Inf(1), math.Inf(-1)
	for _, b := range bars {
		low, high = min(low, math.Log10(b.value)), max(high, math.Log10(b.value))
	}
	low = math.Floor(low - 0.3)
	if high <= low {
		high = low + 1
	}
	return low, high
}

func escaped(text string) string {
	var out strings.Builder
	if err := xml.EscapeText(&out, []byte(text)); err != nil {
		return ""
	}
	return out.String()
}

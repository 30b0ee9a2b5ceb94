package graph_test

import (
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/flowrun/flowrun/engine/graph"
)

// TestEveryTextHasContrast holds the colours of both modes against WCAG 2.2: 4.5
// for texts on each of the grounds that they can stand on, 3 for the lines that
// carry meaning.
func TestEveryTextHasContrast(t *testing.T) {
	svg := graph.SVG(sample())
	light, dark, found := strings.Cut(svg, "prefers-color-scheme:dark")
	if !found {
		t.Fatal("there is no dark mode")
	}
	for mode, style := range map[string]string{"light": light, "dark": dark} {
		colours := variables(style)
		grounds := []string{"page", "box", "loop"}
		for _, text := range []string{"ink", "mute", "cond", "read", "idem", "keyed", "once"} {
			for _, ground := range grounds {
				if got := contrast(t, colours[text], colours[ground]); got < 4.5 {
					t.Errorf("%s: --%s on --%s has a contrast of %.2f", mode, text, ground, got)
				}
			}
		}
		for _, ground := range grounds {
			if got := contrast(t, colours["line"], colours[ground]); got < 3 {
				t.Errorf("%s: the lines on --%s have a contrast of %.2f", mode, ground, got)
			}
		}
	}
}

func TestContrastIsThatOfWCAG(t *testing.T) {
	for _, known := range []struct {
		a, b string
		want float64
	}{{"#000000", "#ffffff", 21}, {"#777777", "#ffffff", 4.48}, {"#ffffff", "#ffffff", 1}} {
		if got := contrast(t, known.a, known.b); math.Abs(got-known.want) > 0.01 {
			t.Errorf("%s on %s: %.3f, want %.2f", known.a, known.b, got, known.want)
		}
	}
}

var variable = regexp.MustCompile(`--([a-z]+):(#[0-9a-f]{6})`)

// variables returns the colours by name; the first of each counts.
func variables(style string) map[string]string {
	colours := map[string]string{}
	for _, match := range variable.FindAllStringSubmatch(style, -1) {
		if colours[match[1]] == "" {
			colours[match[1]] = match[2]
		}
	}
	return colours
}

// contrast is the contrast ratio of WCAG 2.2.
func contrast(t *testing.T, a, b string) float64 {
	t.Helper()
	la, lb := luminance(t, a), luminance(t, b)
	return (math.Max(la, lb) + 0.05) / (math.Min(la, lb) + 0.05)
}

func luminance(t *testing.T, colour string) float64 {
	t.Helper()
	bits, err := strconv.ParseUint(strings.TrimPrefix(colour, "#"), 16, 32)
	if err != nil {
		t.Fatalf("colour %q: %v", colour, err)
	}
	channel := func(shift uint) float64 {
		value := float64(bits>>shift&0xff) / 255
		if value <= 0.04045 {
			return value / 12.92
		}
		return math.Pow((value+0.055)/1.055, 2.4)
	}
	return 0.2126*channel(16) + 0.7152*channel(8) + 0.0722*channel(0)
}

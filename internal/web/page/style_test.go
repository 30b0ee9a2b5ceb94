package page

import (
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// palettes are the colours of both modes.
func palettes(t *testing.T) map[string]map[string]string {
	t.Helper()
	sheet := string(readAssets()["app.css"].body)
	light, rest, found := strings.Cut(sheet, "@media (prefers-color-scheme:dark)")
	if !found {
		t.Fatal("the style sheet has no dark mode")
	}
	dark, _, _ := strings.Cut(rest, "}}")
	colour := regexp.MustCompile(`--([a-z-]+):#([0-9a-f]{3}|[0-9a-f]{6})\b`)
	read := func(text string) map[string]string {
		colours := map[string]string{}
		for _, found := range colour.FindAllStringSubmatch(text, -1) {
			hex := found[2]
			if len(hex) == 3 {
				hex = string([]byte{hex[0], hex[0], hex[1], hex[1], hex[2], hex[2]})
			}
			colours[found[1]] = hex
		}
		return colours
	}
	return map[string]map[string]string{"light": read(light), "dark": read(dark)}
}

func luminance(t *testing.T, hex string) float64 {
	t.Helper()
	var sum float64
	for i, weight := range []float64{0.2126, 0.7152, 0.0722} {
		n, err := strconv.ParseUint(hex[2*i:2*i+2], 16, 8)
		if err != nil {
			t.Fatal(err)
		}
		c := float64(n) / 255
		if c <= 0.04045 {
			c /= 12.92
		} else {
			c = math.Pow((c+0.055)/1.055, 2.4)
		}
		sum += weight * c
	}
	return sum
}

func contrast(t *testing.T, a, b string) float64 {
	t.Helper()
	x, y := luminance(t, a), luminance(t, b)
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}

// TestEveryColourHasContrast holds both modes against WCAG 2.2: 4.5 for texts on
// each ground that they stand on, 3 for the rims and bars that carry meaning.
func TestEveryColourHasContrast(t *testing.T) {
	for mode, colours := range palettes(t) {
		check := func(front, ground string, least float64) {
			if colours[front] == "" || colours[ground] == "" {
				t.Errorf("%s: --%s or --%s is not there", mode, front, ground)
				return
			}
			if got := contrast(t, colours[front], colours[ground]); got < least {
				t.Errorf("%s: --%s on --%s has %.2f, less than %v", mode, front, ground, got, least)
			}
		}
		for _, ground := range []string{"bg", "card", "soft"} {
			for _, front := range []string{"ink", "mute", "link"} {
				check(front, ground, 4.5)
			}
			check("focus", ground, 3)
		}
		for _, tone := range []string{"ok", "bad", "run", "wait", "hold", "calm"} {
			for _, ground := range []string{"bg", "card", tone + "-b"} {
				check(tone, ground, 4.5)
			}
			check(tone+"-s", "card", 3)
			check("ink", tone+"-b", 4.5)
			check("mute", tone+"-b", 4.5)
			check("link", tone+"-b", 4.5)
		}
		check("rim", "card", 3)
		check("on", "link", 4.5)
	}
}

func TestAssetsAreKeptByTheirContent(t *testing.T) {
	d := newDesk(t, map[string]string{"f.yaml": failingFlow})
	page := d.get("/", http.StatusOK)
	for name, kind := range map[string]string{"app.css": "text/css; charset=utf-8", "app.js": "text/javascript; charset=utf-8", "icon.svg": "image/svg+xml"} {
		url := assetPath(name, readAssets()[name])
		if !strings.Contains(page, `"`+url+`"`) {
			t.Errorf("the page does not load %s", url)
		}
		for path, kept := range map[string]bool{url: true, "/static/" + name: false, "/static/" + name + "?v=old": false} {
			w := httptest.NewRecorder()
			d.handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
			if w.Code != http.StatusOK || w.Header().Get("Content-Type") != kind || strings.Contains(w.Header().Get("Cache-Control"), "immutable") != kept {
				t.Errorf("%s: %d %v", path, w.Code, w.Header())
			}
		}
	}
	for _, path := range []string{"/static/none.css", "/static/..%2fpage.go", "/static/"} {
		d.get(path, http.StatusNotFound)
	}
}

func TestEveryStatusHasAMarkAndAColour(t *testing.T) {
	sheet := string(readAssets()["app.css"].body)
	sprite, err := templateFiles.ReadFile("templates/sprite.html")
	if err != nil {
		t.Fatal(err)
	}
	for status, mark := range marks {
		if !strings.Contains(string(sprite), fmt.Sprintf(`id="i-%s"`, mark.icon)) || !strings.Contains(sheet, ".t-"+mark.tone+"{") {
			t.Errorf("%s: icon %s, tone %s", status, mark.icon, mark.tone)
		}
	}
	for _, status := range runStatuses {
		if _, known := marks[string(status)]; !known {
			t.Errorf("the run status %s has no mark", status)
		}
	}
	for status := range statusRank {
		if _, known := marks[string(status)]; !known {
			t.Errorf("the step status %s has no mark", status)
		}
	}
}

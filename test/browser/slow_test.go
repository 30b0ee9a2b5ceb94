package browser

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// busyFlow ends fifty items a second, for so many seconds.
func busyFlow(name string, seconds int) string {
	numbers := make([]string, 50*seconds)
	for i := range numbers {
		numbers[i] = strconv.Itoa(i)
	}
	return fmt.Sprintf(`flowrun: v1
name: %s
steps:
  - id: each
    foreach: [%s]
    key: ${{ string(item) }}
    max_parallel: 10
    steps:
      - id: rest
        uses: core.sleep
        with: {for: 190ms}
      - id: said
        needs: [rest]
        uses: core.log
        with: {text: "item ${{ item }} is done"}
`, name, strings.Join(numbers, ", "))
}

// busy adds a busy workflow to a server's project and starts a run of it.
func (s *server) busy(b *tab, name string, seconds int) (run string) {
	s.t.Helper()
	if err := os.WriteFile(filepath.Join(s.project, "workflows", name+".yaml"), []byte(busyFlow(name, seconds)), 0o600); err != nil {
		s.t.Fatal(err)
	}
	out := s.flowrun("run", "workflows/"+name+".yaml", "--detach")
	id := regexp.MustCompile(`[0-7][0-9a-hjkmnp-tv-z]{25}`).FindString(out)
	if id == "" {
		s.t.Fatalf("flowrun run: %s", out)
	}
	return "/runs/" + id
}

// through opens a browser whose way to the server is a line.
func (s *server) through(l *link) *tab {
	s.t.Helper()
	direct := s.url
	b := &tab{t: s.t, ctx: newBrowser(s.t), server: &server{t: s.t, project: s.project, url: l.address}}
	b.do(chromedp.EmulateViewport(1280, 900))
	b.watch()
	b.do(chromedp.Navigate(l.address + strings.TrimPrefix(s.loginLink(), direct)))
	b.until(`location.pathname == "/" || document.querySelector("form button")`)
	if eval[bool](b, `location.pathname != "/"`) {
		eval[bool](b, `document.querySelector("form button").click() || true`)
		b.until(`location.pathname == "/"`)
	}
	return b
}

// TestIssue12_24_ASlowLineIsNeverFarBehind looks at a run that changes fifty times
// a second over a line of 50 KB/s and 200 ms. How much comes is counted here; how
// old it is depends on the machine, so that it is told, and wanted to be below two
// seconds where FLOWRUN_SLOW says how long to look (make slow).
func TestIssue12_24_ASlowLineIsNeverFarBehind(t *testing.T) {
	seconds, strict := 15, false
	if text := os.Getenv("FLOWRUN_SLOW"); text != "" {
		length, err := time.ParseDuration(text)
		if err != nil {
			t.Fatal(err)
		}
		seconds, strict = int(length/time.Second), true
	}
	s := serve(t)
	l := newLink(t, s.url, 50_000, 200*time.Millisecond)
	b := s.through(l)
	for _, tab := range []string{"", "/logs"} {
		t.Run("run"+tab, func(t *testing.T) { b.lags(t, s, l, tab, seconds, strict) })
	}
}

// lags looks at a page of a busy run for a time.
func (b *tab) lags(t *testing.T, s *server, l *link, page string, seconds int, strict bool) {
	run := s.busy(b, "busy"+strings.TrimPrefix(page, "/"), seconds+10)
	b.goTo(run + page)
	// How far the run is: the page's own word, and when each line was written.
	b.until(`document.querySelector("#live b")?.textContent == "live"`)
	shown := `(() => {
		const m = [...document.querySelector("main").innerText.matchAll(/(\d+) succeeded|item (\d+) is done/g)];
		return Math.max(-1, ...m.map(x => Number(x[1] ?? x[2])));
	})()`
	b.until(shown + " > 20")
	before, begun := l.down.Load(), time.Now()
	type look struct {
		at   time.Time
		mark string
		n    int
	}
	var looks []look
	for time.Since(begun) < time.Duration(seconds)*time.Second {
		text := eval[string](b, `document.querySelector("#live").textContent + "/" + `+shown)
		mark, number, _ := strings.Cut(text, "/")
		n, err := strconv.Atoi(number)
		if err != nil {
			b.fail("%q", text)
		}
		looks = append(looks, look{time.Now(), mark, n})
		time.Sleep(100 * time.Millisecond)
	}
	rate := float64(l.down.Load()-before) / time.Since(begun).Seconds()
	ended := s.endings(run)
	var ages []time.Duration
	behind := 0
	for _, one := range looks {
		if one.mark != "live" {
			behind++
		}
		// The next one had not ended yet when what is shown was true.
		if next := one.n + 1; next < len(ended) && ended[next].Before(one.at) {
			ages = append(ages, one.at.Sub(ended[next]))
		} else {
			ages = append(ages, 0)
		}
	}
	slices.Sort(ages)
	t.Logf("%s: %.1f KB/s; age of what is shown: median %s, p99 %s, most %s; %d of %d looks not live", page, rate/1000, ages[len(ages)/2], ages[len(ages)*99/100], ages[len(ages)-1], behind, len(looks))
	if rate > 10_000 {
		t.Errorf("%.0f bytes a second", rate)
	}
	if looks[len(looks)-1].n <= looks[0].n {
		t.Errorf("the page stands still at %d", looks[0].n)
	}
	if strict && ages[len(ages)-1] > 2*time.Second {
		t.Errorf("what is shown was %s old", ages[len(ages)-1])
	}
	s.flowrun("runs", "cancel", strings.TrimPrefix(run, "/runs/"))
}

// endings are the times at which the items of a run ended, in their order in time.
func (s *server) endings(run string) []time.Time {
	out := s.flowrun("runs", "logs", strings.TrimPrefix(run, "/runs/"), "-o", "jsonl")
	var ends []time.Time
	for _, found := range regexp.MustCompile(`"at":"([^"]+)"`).FindAllStringSubmatch(out, -1) {
		at, err := time.Parse(time.RFC3339Nano, found[1])
		if err != nil {
			s.t.Fatal(err)
		}
		ends = append(ends, at)
	}
	slices.SortFunc(ends, time.Time.Compare)
	return ends
}

func TestIssue12_24_TheMarkTellsTheAgeOfWhatIsShown(t *testing.T) {
	s := serve(t)
	l := newLink(t, s.url, 0, 0)
	b := s.through(l)
	b.expect("Failed to load resource") // while there is no line
	b.expect("ERR_")
	b.goTo("/runs")
	const mark = `document.querySelector("#live").textContent`
	b.until(mark + ` == "live"`)
	l.holdUp(true) // the connection stands, and nothing comes
	b.until(`/^\d+ s behind$/.test(` + mark + `)`)
	l.holdUp(false)
	b.until(mark + ` == "live"`)
	l.cut()
	l.holdUp(true)
	b.until(`/^not connected since /.test(` + mark + `)`)
	l.holdUp(false)
	b.until(mark + ` == "live"`)
	s.flowrun("run", "workflows/greet.yaml", "-i", "name=Ada")
	b.sees("greet")
	b.until(mark + ` == "live"`)
}

package page

import (
	"encoding/json"
	"html"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/workspace"
)

var spanTags = regexp.MustCompile(`</?span[^<>]*>`)

// shownText is the text that a browser would show.
func shownText(marked string) string {
	return html.UnescapeString(spanTags.ReplaceAllString(marked, ""))
}

func TestPropertyColoursChangeNoLetter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := strings.ReplaceAll(rapid.String().Draw(t, "text"), "\x00", "")
		if got := shownText(string(colourJSON(text))); got != html.UnescapeString(escapeText(text)) {
			t.Fatalf("%q became %q", text, got)
		}
		line := strings.ReplaceAll(text, "\n", " ")
		if got := shownText(string(colourYAML(line))); got != html.UnescapeString(escapeText(line)) {
			t.Fatalf("%q became %q", line, got)
		}
	})
}

func TestJSONIsColouredByItsParts(t *testing.T) {
	raw := json.RawMessage(`{"a":"x\"y","n":-1.5e3,"t":true,"f":false,"z":null,"s":{"$secret":"TOKEN"}}`)
	got := string(colourJSON(maskRefs(workspace.ReadableJSON(raw))))
	for _, want := range []string{
		`<span class="jk">"a"</span>: <span class="js">"x\"y"</span>`, `<span class="jn">-1.5e3</span>`, `<span class="jn">true</span>`,
		`<span class="jn">null</span>`, `"•••••• (secret TOKEN)"`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("it lacks %s\n%s", want, got)
		}
	}
}

func TestCommandsAreReadyForAShell(t *testing.T) {
	s := &site{Options: Options{Flags: []string{"--state", "/tmp/a b"}}}
	got := s.command("runs", "show", "id", "", "domains[a'b $(x)].whois", "--form", "n=1")
	if want := `flowrun runs show id 'domains[a'\''b $(x)].whois' --form n=1 --state '/tmp/a b'`; got != want {
		t.Errorf("%s", got)
	}
	if got := s.command([]any{"runs", "list"}); !strings.HasPrefix(got, "flowrun runs list --state") {
		t.Errorf("%s", got)
	}
	for _, text := range []string{"a b", "$HOME", "`x`", "a'b", `"`, "*", "\\n", "~", "é", ";", "#x", "a\nb"} {
		out, err := exec.Command("/bin/sh", "-c", "printf %s "+diag.ShellWord(text)).Output()
		if err != nil || string(out) != text {
			t.Errorf("%q became %q (%v)", text, out, err)
		}
	}
}

func TestDurationsAndDistances(t *testing.T) {
	for d, want := range map[time.Duration][2]string{
		-time.Second: {"0ms", "now"}, 12 * time.Millisecond: {"12ms", "now"}, 3400 * time.Millisecond: {"3.4s", "3s"}, 5 * time.Second: {"5s", "5s"},
		125 * time.Second: {"2m05s", "2 min"}, 200 * time.Minute: {"3h20m", "3 h"}, 50 * time.Hour: {"2d2h", "2 days"},
	} {
		if got := [2]string{duration(d), distance(d)}; got != want {
			t.Errorf("%v: %v, want %v", d, got, want)
		}
	}
}

func TestTimesAreShownInTheirZoneAndTheDayUnlessToday(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	s := &site{Options: Options{Now: func() time.Time { return noon }, Location: berlin}}
	for at, want := range map[time.Time]string{
		noon.Add(-time.Hour): ">12:00:00<", noon.AddDate(0, 0, -1): ">Nov 21 13:00<", noon.AddDate(-1, 0, 0): ">2025-11-22 13:00<",
	} {
		if got := string(s.when(at)); !strings.Contains(got, want) || !strings.Contains(got, "UTC") {
			t.Errorf("%v: %s, want %s", at, got, want)
		}
	}
	for at, want := range map[time.Time]string{noon.Add(-90 * time.Second): "1 min ago", noon.Add(3 * time.Hour): "in 3 h", noon: "now"} {
		if got := string(s.ago(at)); !strings.Contains(got, ">"+want+"<") {
			t.Errorf("%v: %s, want %s", at, got, want)
		}
	}
	if s.when((*time.Time)(nil)) != "–" || s.ago(time.Time{}) != "–" || s.when("x") != "–" {
		t.Error("no time is shown as one")
	}
}

func TestOnlyOwnPathsAreGoneBackTo(t *testing.T) {
	for path, want := range map[string]bool{
		"/": true, "/runs?x=1": true, "": false, "//evil.example": false, `/\evil.example`: false, "https://evil.example": false, "runs": false,
		"/\t/evil.example": false, "/\n": false,
	} {
		if isOwnPath(path) != want {
			t.Errorf("%q: %v", path, !want)
		}
	}
}

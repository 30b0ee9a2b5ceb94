package view

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flowrun/flowrun/engine"
	"github.com/flowrun/flowrun/engine/connections"
	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/workspace"
	"github.com/flowrun/flowrun/internal/cli/term"
)

func login(code, url string) *runs.Prompt {
	return &runs.Prompt{Title: "Log in to connection work", URL: url, UserCode: code, ExpiresAt: start.Add(15 * time.Minute)}
}

func boxText(p *runs.Prompt, now time.Time, cancel string, width int) string {
	return strings.Join(promptBox(p, now, cancel, width, term.Style{}, Times{}), "\n")
}

func TestAPromptIsABoxWithACountdown(t *testing.T) {
	want := `┌─────────────────────────────────────────┐
│ Log in to connection work               │
│ open   https://login.example/device     │
│ code   WDJB-MJHT                        │
│ 14:52 left (until 14:18:00) · q cancels │
└─────────────────────────────────────────┘`
	if diff := cmp.Diff(want, boxText(login("WDJB-MJHT", "https://login.example/device"), start.Add(8*time.Second), "q", 79)); diff != "" {
		t.Error("(-want +got)", diff)
	}
	if got := boxText(login("A", "b"), start.Add(16*time.Minute), "", 79); !strings.Contains(got, "the time is over") || strings.Contains(got, "cancels") {
		t.Errorf("at its end:\n%s", got)
	}
	if got := boxText(login("A", "b"), time.Time{}, "", 79); !strings.Contains(got, "until 14:18:00") || strings.Contains(got, "left") {
		t.Errorf("printed once:\n%s", got)
	}
}

// TestA10_CodeAndAddressStayOnOneLine: 15 wide characters and 40 of an address,
// at every width that has the room for the longer of them.
func TestA10_CodeAndAddressStayOnOneLine(t *testing.T) {
	code, address := strings.Repeat("W", 15), "https://login.example/"+strings.Repeat("d", 18)
	for width := 44; width <= 200; width++ {
		got := boxText(login(code, address), start, "q", width)
		if !strings.Contains(got, code) || !strings.Contains(got, address) {
			t.Fatalf("at width %d something is broken:\n%s", width, got)
		}
	}
	wide := strings.Repeat("词", 15) // two cells each
	if got := boxText(login(wide, address), start, "q", 44); !strings.Contains(got, wide) {
		t.Errorf("a code of wide characters is broken:\n%s", got)
	}
}

func TestA10_WhatIsLongerIsWrappedAndNothingIsLost(t *testing.T) {
	code, address := strings.Repeat("Ab3-", 12), "https://login.example/"+strings.Repeat("very/long/", 30)+"?user_code=x"
	for width := 20; width <= 120; width++ {
		lines := promptBox(login(code, address), start, "q", width, term.Style{}, Times{})
		var text strings.Builder
		for _, line := range lines {
			if term.Width(line) > width {
				t.Fatalf("at width %d a line has %d cells: %s", width, term.Width(line), line)
			}
			text.WriteString(strings.Trim(line, "│┌┐└┘─ "))
		}
		if !strings.Contains(text.String(), code) || !strings.Contains(text.String(), address) {
			t.Fatalf("at width %d something is lost:\n%s", width, strings.Join(lines, "\n"))
		}
	}
}

func TestAPromptSteersNoTerminal(t *testing.T) {
	p := &runs.Prompt{Title: "a\x1b[2Jb\nc", URL: "https://x\x1b]0;y", UserCode: "W\rX", Message: "m\u202en"}
	for _, text := range []string{boxText(p, start, "", 60), promptLine(p, Times{})} {
		if strings.ContainsAny(strings.ReplaceAll(text, "\n", ""), "\x1b\r\u202e") || !strings.Contains(text, "WX") {
			t.Errorf("%q", text)
		}
	}
}

func TestCountdownAsAClock(t *testing.T) {
	for left, want := range map[time.Duration]string{
		time.Millisecond: "00:01", 59 * time.Second: "00:59", 14*time.Minute + 51*time.Second + 1: "14:52", time.Hour + 2*time.Minute + 3*time.Second: "1:02:03",
	} {
		if got := countdown(left); got != want {
			t.Errorf("%s is shown as %s, want %s", left, got, want)
		}
	}
}

func TestACallWithoutATerminalPrintsAPromptOnce(t *testing.T) {
	var out bytes.Buffer
	call := NewCall(&out, page())
	for range 3 { // once for every poll
		call.Tick(start)
		call.Prompt(*login("WDJB-MJHT", "https://login.example/device"))
	}
	again := login("NEWC-ODE1", "https://login.example/device")
	call.Prompt(*again)
	call.Log(runs.Log{Level: "debug", Message: "hidden"})
	call.Log(runs.Log{Level: "warn", Message: "slow"})
	call.Close()
	want := `Log in to connection work: open https://login.example/device and enter the code WDJB-MJHT, until 2026-03-01 14:18:00 UTC
Log in to connection work: open https://login.example/device and enter the code NEWC-ODE1, until 2026-03-01 14:18:00 UTC
14:03:00 warn slow
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error("(-want +got)", diff)
	}
}

func TestALiveCallDrawsItsBoxAndTakesItAway(t *testing.T) {
	var out bytes.Buffer
	call := NewLiveCall(&out, page(), "q", func() (int, int) { return 80, 24 })
	call.Prompt(*login("WDJB-MJHT", "https://login.example/device"))
	call.Tick(start)
	call.Log(runs.Log{At: start, Level: "info", Message: "polling"})
	call.Tick(start.Add(time.Second))
	call.Close()
	text := out.String()
	for _, want := range []string{"15:00 left", "14:59 left", "polling\x1b[K\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in %q", want, text)
		}
	}
	if !strings.HasSuffix(text, "\r\x1b[6A\x1b[J") {
		t.Errorf("the box is left: %q", text[max(len(text)-80, 0):])
	}
}

// TestABoxThatIsTooHighIsPrintedOnce: it can't be drawn in place.
func TestABoxThatIsTooHighIsPrintedOnce(t *testing.T) {
	var out bytes.Buffer
	call := NewLiveCall(&out, page(), "q", func() (int, int) { return 80, 5 })
	call.Prompt(*login("WDJB-MJHT", "https://login.example/device"))
	for i := range 3 {
		call.Tick(start.Add(time.Duration(i) * time.Second))
	}
	call.Close()
	if text := out.String(); strings.Count(text, "WDJB-MJHT") != 1 || strings.Contains(text, "left") {
		t.Errorf("%q", text)
	}
	live, shown := newTestLive(80, 8)
	live.Apply(runUpdate(runs.RunWaiting))
	live.Apply(stepUpdate(runs.Step{Path: "login", Status: runs.StepWaiting, Prompt: login("WDJB-MJHT", "https://login.example/device")}))
	for i := range 3 {
		live.Tick(start.Add(time.Duration(i) * time.Second))
	}
	if strings.Count(shown.String(), "WDJB-MJHT") != 1 {
		t.Errorf("a run: %q", shown.String())
	}
}

// TestPlainSaysOnceThatALoginIsPolled: a login takes minutes, with a poll every
// few seconds.
func TestPlainSaysOnceThatALoginIsPolled(t *testing.T) {
	var out bytes.Buffer
	plain := NewPlain(&out, term.Style{}, Times{})
	plain.Tick(start)
	plain.Apply(runUpdate(runs.RunRunning))
	for i := range 3 {
		until := start.Add(time.Duration(5*i) * time.Second)
		plain.Apply(stepUpdate(runs.Step{Path: "login", Status: runs.StepRunning, Attempts: 1}))
		plain.Apply(runUpdate(runs.RunRunning))
		plain.Apply(stepUpdate(runs.Step{
			Path: "login", Status: runs.StepWaiting, Attempts: 1, Wait: "poll", Until: &until, Prompt: login("WDJB-MJHT", "https://login.example/device"),
		}))
		plain.Apply(runUpdate(runs.RunWaiting))
	}
	plain.Apply(stepUpdate(runs.Step{Path: "login", Status: runs.StepSucceeded, Attempts: 1}))
	plain.Apply(runUpdate(runs.RunSucceeded))
	want := `14:03:00 run 01x watch: running
14:03:00 login running
14:03:00 Log in to connection work: open https://login.example/device and enter the code WDJB-MJHT, until 2026-03-01 14:18:00 UTC
14:03:00 login waiting (poll, next 14:03:00)
14:03:00 run 01x watch: waiting
14:03:00 login succeeded
14:03:00 run 01x watch: succeeded
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error("(-want +got)", diff)
	}
}

func TestPromptsOfItemsComeInOrderAndOnce(t *testing.T) {
	m := newModel()
	m.apply(engine.Update{Kind: engine.UpdateRun, Run: &runs.Run{ID: "01x"}})
	for _, path := range []string{"each[c].w", "each[a].w", "each[b].w", "each[d].w"} {
		code := path[5:6]
		if code == "d" {
			code = "a" // the same flow
		}
		m.apply(stepUpdate(runs.Step{Path: path, Status: runs.StepWaiting, Prompt: &runs.Prompt{UserCode: code}}))
	}
	codes := ""
	for _, prompt := range m.prompts() {
		codes += prompt.UserCode
	}
	if codes != "abc" {
		t.Errorf("codes in the order %s", codes)
	}
}

func TestLongTextsAreCutOnATerminal(t *testing.T) {
	long := `"` + strings.Repeat(`line\n`, 100) + `"`
	for width, want := range map[int]bool{0: false, 80: true} {
		var out bytes.Buffer
		p := page()
		p.Width = width
		p.Outputs(&out, rawOutputs("digest", long))
		if got := strings.Contains(out.String(), "… 80 more lines"); got != want || want != strings.Contains(out.String(), "--out NAME=FILE has all") {
			t.Errorf("width %d:\n%s", width, out.String())
		}
	}
}

func TestConnectionsAndTheirTests(t *testing.T) {
	var out bytes.Buffer
	until := start
	page().Connections(&out, []workspace.ConnectionStatus{
		{Name: "a", Plugin: "auth", URL: "https://a.example", Login: &workspace.LoginState{State: "valid", ExpiresAt: &until}},
		{Name: "b", Plugin: "tasks", Rate: "60/1m", TokenFrom: "a"},
		{Name: "r", Plugin: "auth", Login: &workspace.LoginState{State: "valid", Renewable: true, ExpiresAt: &until}},
		{Name: "s", Plugin: "auth", Login: &workspace.LoginState{State: "valid", Renewable: true, RefreshExpiresAt: &until}},
		{Name: "c", Plugin: "auth", Login: &workspace.LoginState{State: "auth_required", Reason: "revoked"}},
		{Name: "d", Plugin: "auth", Login: &workspace.LoginState{State: "unknown", Error: "it crashed"}},
		{Name: "e", Plugin: "x", Error: "there is no\nsetting"},
	})
	want := `CONNECTION  PLUGIN  URL                RATE   LOGIN
a           auth    https://a.example  -      valid until 2026-03-01 14:03:00
b           tasks   -                  60/1m  from a
r           auth    -                  -      valid, renews itself
s           auth    -                  -      valid, renews itself until 2026-03-01 14:03:00
c           auth    -                  -      login needed (revoked)
d           auth    -                  -      unknown: it crashed
e           x       -                  -      error: there is no
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error("(-want +got)", diff)
	}
	out.Reset()
	page().ConnectionTests(&out, []connections.Test{
		{Name: "work", Plugin: "tasks", OK: true, Account: "ann", DurationMS: 12},
		{Name: "c", Plugin: "x", OK: true, NotTried: true, Note: "the plugin has no test", DurationMS: 12},
		{Name: "b", Plugin: "x", Error: &runs.Error{Kind: plan.KindUnauthorized, Message: "401", HTTPStatus: 401, Hint: diag.Say("look at token")}},
	})
	want = `✓ work  tasks  ok · ann · 12ms
✓ c     x      opened; the plugin has no test · 12ms
✗ b     x      unauthorized: 401
  HTTP 401
  help: look at token
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error("(-want +got)", diff)
	}
	out.Reset()
	page().LoggedIn(&out, "work", []string{"openid"}, []string{"email"}, nil)
	if got := out.String(); got != "✓ logged in to work · openid\nwarning: not granted: email\n" {
		t.Errorf("%q", got)
	}
}

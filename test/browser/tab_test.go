package browser

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// tab is one page that is looked at. What its console says is an error of the
// test, unless it was expected.
type tab struct {
	t      *testing.T
	ctx    context.Context
	server *server

	mu      sync.Mutex
	console []string
	expects []string // parts of messages that are none
}

// open starts a browser with one tab that is logged in to the server.
func (s *server) open() *tab {
	s.t.Helper()
	b := &tab{t: s.t, ctx: newBrowser(s.t), server: s}
	b.do(chromedp.EmulateViewport(1280, 900))
	b.watch()
	b.do(chromedp.Navigate(s.loginLink()))
	b.clickAt(`[...document.querySelectorAll("button.main")]`)
	b.until(`location.pathname == "/"`)
	return b
}

// watch collects what the page writes to its console.
func (b *tab) watch() {
	messages := chromedp.Console(b.ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for message, err := range messages {
			if err != nil {
				return
			}
			if message.IsException() || message.Type == chromedp.ConsoleError || message.Type == chromedp.ConsoleWarning {
				b.mu.Lock()
				b.console = append(b.console, fmt.Sprintf("%s: %s (%s)", message.Type, message.Text, message.URL))
				b.mu.Unlock()
			}
		}
	}()
	b.t.Cleanup(func() {
		_ = chromedp.Cancel(b.ctx)
		<-done
		for _, message := range b.complaints() {
			b.t.Errorf("the console says: %s", message)
		}
	})
}

// complaints are the messages that nobody expected.
func (b *tab) complaints() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	var all []string
next:
	for _, message := range b.console {
		for _, part := range b.expects {
			if strings.Contains(message, part) {
				continue next
			}
		}
		all = append(all, message)
	}
	return all
}

// expect says that the console may name what a form was refused with.
func (b *tab) expect(part string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.expects = append(b.expects, part)
}

func (b *tab) do(steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	if err := chromedp.Do(ctx, steps...); err != nil {
		b.fail("%v", err)
	}
}

// goTo opens a path of the server.
func (b *tab) goTo(path string) {
	b.t.Helper()
	b.do(chromedp.Navigate(b.server.url + path))
}

// eval returns what an expression gives.
func eval[T any](b *tab, expression string) T {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	value, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression))
	if err != nil {
		b.fail("%s: %v", expression, err)
	}
	return value
}

// until waits for an expression to be true, over reloads.
func (b *tab) until(expression string) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		if value, err := chromedp.Run(ctx, chromedp.Evaluate[bool]("!!("+expression+")")); err == nil && value {
			return
		}
		select {
		case <-ctx.Done():
			b.fail("it never came true: %s", expression)
		case <-tick.C:
		}
	}
}

// sees waits until the page has a text.
func (b *tab) sees(text string) {
	b.t.Helper()
	b.until(fmt.Sprintf("document.body.innerText.includes(%q)", text))
}

// fail tells what the page showed.
func (b *tab) fail(format string, args ...any) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, 10*time.Second)
	defer cancel()
	text, _ := chromedp.Run(ctx, chromedp.Evaluate[string]("location.href + '\\n' + document.body.innerText"))
	if folder := os.Getenv("FLOWRUN_KEEP"); folder != "" {
		if png, err := chromedp.Run(ctx, chromedp.FullScreenshot(100)); err == nil {
			_ = os.WriteFile(folder+"/"+strings.ReplaceAll(b.t.Name(), "/", "_")+".png", png, 0o600)
		}
	}
	b.t.Fatalf(format+"\nthe page shows:\n%s", append(args, text)...)
}

// click clicks the first visible element of a selector with the mouse. Live
// updates may replace the element at any time, so that it is found by its place.
func (b *tab) click(selector string) {
	b.t.Helper()
	b.clickAt(fmt.Sprintf(`[...document.querySelectorAll(%q)]`, selector))
}

// button clicks the button or link with a text.
func (b *tab) button(text string) {
	b.t.Helper()
	b.clickAt(fmt.Sprintf(`[...document.querySelectorAll("main button, main a, main summary")].filter(e => e.innerText.trim() == %q)`, text))
}

// clickAt clicks the first element of a list that is visible and not covered.
func (b *tab) clickAt(elements string) {
	b.t.Helper()
	find := fmt.Sprintf(`(() => {
		const e = %s.find(e => e.checkVisibility() && !e.disabled);
		if (!e) return "";
		e.scrollIntoView({block: "center", behavior: "instant"});
		const r = e.getBoundingClientRect(), x = r.x + r.width / 2, y = r.y + r.height / 2, top = document.elementFromPoint(x, y);
		return top && (e.contains(top) || top.contains(e)) ? x + " " + y : "";
	})()`, elements)
	var x, y float64
	b.until(find + ` != ""`)
	if _, err := fmt.Sscan(eval[string](b, find), &x, &y); err != nil {
		b.fail("%s is gone", elements)
	}
	b.do(chromedp.MouseClickXY(x, y))
}

// fill types a text into a control with the keyboard, in place of what stands
// there.
func (b *tab) fill(selector, text string) {
	b.t.Helper()
	b.until(fmt.Sprintf(`(() => { const e = document.querySelector(%q); if (!e) return false; e.focus(); e.select(); return document.activeElement == e })()`, selector))
	b.do(chromedp.KeyEvent(kb.Delete), chromedp.KeyEvent(strings.ReplaceAll(text, "\n", kb.Enter)))
}

// size sets the window's width, and the reader's choice of light or dark.
func (b *tab) size(width int64, scheme string) {
	b.t.Helper()
	b.do(chromedp.EmulateViewport(width, 900))
	if _, err := chromedp.Call(b.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
	}); err != nil {
		b.fail("%v", err)
	}
}

// scripts turns the scripts of the page off or on.
func (b *tab) scripts(on bool) {
	b.t.Helper()
	if _, err := chromedp.Call(b.ctx, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: !on}); err != nil {
		b.fail("%v", err)
	}
}

// noCache makes each page load all that it needs.
func (b *tab) noCache() {
	b.t.Helper()
	if _, err := chromedp.Call(b.ctx, network.SetCacheDisabled, network.SetCacheDisabledParams{CacheDisabled: true}); err != nil {
		b.fail("%v", err)
	}
}

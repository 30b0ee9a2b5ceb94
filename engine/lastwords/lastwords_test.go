package lastwords_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flowrun/flowrun/engine/lastwords"
)

const node = `starting
/plugin/main.js:7
    throw new TypeError("no grpc here")
    ^

TypeError: no grpc here
    at Object.<anonymous> (/plugin/main.js:7:11)
    at node:internal/main/run_main_module:23:47

Node.js v20.20.2
`

const python = `serving
Traceback (most recent call last):
  File "/plugin/main.py", line 3, in <module>
    main()
    ~~~~^^
  File "/plugin/main.py", line 2, in main
    raise ValueError("no key\nin it")
ValueError: no key
in it
`

func TestIssue15_TheHeadlineSaysWhyAProcessDied(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"nothing":              {"", ""},
		"plain words":          {"one\ntwo\n\n", "two"},
		"Go":                   {"starting\npanic: boom\n\ngoroutine 1 [running]:\nmain.main()\nexit status 2", "panic: boom"},
		"a signal":             {"SIGABRT: abort\nPC=0x46\n\ngoroutine 0\n\trax  0x0", "SIGABRT: abort"},
		"Node":                 {node, "TypeError: no grpc here"},
		"Node, with a cause":   {"Error: outer\n    at f (x.js:1:1) {\n  [cause]: Error: inner\n      at g (y.js:1:1)\n}\n\nNode.js v20.20.2", "Error: outer"},
		"Python":               {python, "ValueError: no key"},
		"Python, twice":        {python + "\nDuring handling of the above exception, another exception occurred:\n\n" + strings.ReplaceAll(python, "ValueError", "KeyError"), "KeyError: no key"},
		"a trace it outlived":  {python + strings.Repeat("at work\n", 9) + "no space left on device", "no space left on device"},
		"a trace that was cut": {"Traceback (most recent call last):\n  File \"x\", line 1", `File "x", line 1`},
		"Rust":                 {"thread 'main' panicked at src/main.rs:2:5:\nno port\nnote: run with `RUST_BACKTRACE=1` environment variable to display a backtrace", "thread 'main' panicked at src/main.rs:2:5: no port"},
		"Java":                 {"Exception in thread \"main\" java.lang.Error: x\n\tat A.main(A.java:1)\nCaused by: java.io.IOException: y\n\tat A.b(A.java:2)\n\t... 1 more", "Caused by: java.io.IOException: y"},
	} {
		if got := lastwords.Headline(c.text); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestIssue15_TheLinesAreThoseThatMeanSomething(t *testing.T) {
	want := []string{
		"starting", "/plugin/main.js:7", `    throw new TypeError("no grpc here")`, "TypeError: no grpc here",
		"    at Object.<anonymous> (/plugin/main.js:7:11)", "    at node:internal/main/run_main_module:23:47",
	}
	if diff := cmp.Diff(want, lastwords.Lines(node, 20)); diff != "" {
		t.Errorf("of Node (-want +got):\n%s", diff)
	}
	if got := lastwords.Lines(strings.Repeat("a line\n\n", 50)+"the end\n", 20); len(got) != 20 || got[19] != "the end" {
		t.Errorf("the last 20 are %q", got)
	}
	dump := "starting\npanic: boom\n\n"
	for i := range 30 {
		dump += fmt.Sprintf("goroutine %d [running]:\nmain.f%d()\n\n", i, i)
	}
	if got := lastwords.Lines(dump, 20); len(got) != 20 || got[0] != "panic: boom" || got[2] != "main.f0()" {
		t.Errorf("a long dump does not begin with the goroutine at fault: %q", got)
	}
	if got := lastwords.Lines("", 20); len(got) != 0 {
		t.Errorf("of nothing: %q", got)
	}
}

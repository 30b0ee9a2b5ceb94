package files_test

import (
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/flowrun/flowrun/plugins/files"
	"github.com/flowrun/flowrun/sdk"
	"github.com/flowrun/flowrun/sdk/sdktest"
)

func TestReadsWhatAFileHolds(t *testing.T) {
	b := open(t, nil)
	b.put("a.txt", "\ufeffone\r\ntwo\n")
	b.put("a.json", `{"n": 12345678901234567890, "x": 1.10}`)
	b.put("a.csv", "id,name,price\n1,\"a, b\",1.50\n\n2,c,\n")
	b.put("b.csv", "1;x\n2;y\n")
	row := map[string]any{"type": "object", "required": []string{"id"}, "properties": map[string]any{
		"id": map[string]any{"type": "integer"}, "price": map[string]any{"type": []string{"number", "null"}},
	}}
	for _, c := range []struct {
		input map[string]any
		field string
		want  string
	}{
		{map[string]any{"path": "a.txt"}, "text", "one\r\ntwo\n"},
		{map[string]any{"path": "a.txt", "format": "lines"}, "lines", `[one two]`},
		{map[string]any{"path": "a.json", "format": "json"}, "json", `map[n:12345678901234567890 x:1.10]`},
		{map[string]any{"path": "a.csv", "format": "csv", "answer": row}, "rows", `[map[id:1 name:a, b price:1.50] map[id:2 name:c price:<nil>]]`},
		{map[string]any{"path": "b.csv", "format": "csv", "columns": []string{"n", "l"}, "delimiter": ";"}, "rows", `[map[l:x n:1] map[l:y n:2]]`},
		{map[string]any{"path": "a.txt", "format": "bytes"}, "base64", base64.StdEncoding.EncodeToString([]byte("\ufeffone\r\ntwo\n"))},
	} {
		output := b.gives("read", c.input)
		if got := fmt.Sprint(output[c.field]); got != c.want || output["found"] != true || len(output) != 7 {
			t.Errorf("%v gives %s\nwant %s\nin %v", c.input, got, c.want, output)
		}
	}
	missing := b.gives("read", map[string]any{"path": "no.csv", "format": "csv", "missing_ok": true})
	if missing["found"] != false || missing["rows"] != nil {
		t.Errorf("a file that may be missing: %v", missing)
	}
}

func TestSaysWhatAFileDoesNotHold(t *testing.T) {
	b := open(t, nil)
	b.put("latin.txt", "ok\ncaf\xe9\n")
	b.put("wide.txt", "\xff\xfea\x00")
	b.put("a.csv", "id,price\n1,1.5\n2,dear\n")
	b.put("ragged.csv", "id,price\n1\n")
	b.put("a.json", "{\n\"a\": 1,}\n")
	b.put("big.txt", strings.Repeat("x", 5<<20))
	row := map[string]any{"type": "object", "properties": map[string]any{"price": map[string]any{"type": "number"}}}
	for _, c := range []struct {
		input map[string]any
		want  string
	}{
		{map[string]any{"path": "latin.txt"}, "it is no UTF-8: the byte 0xe9 in line 2"},
		{map[string]any{"path": "wide.txt"}, "it is UTF-16 by its first bytes"},
		{map[string]any{"path": "a.csv", "format": "csv", "answer": row}, "line 3, column `price`: must be a number, is \"dear\""},
		{map[string]any{"path": "ragged.csv", "format": "csv"}, "line 2 has 1 cells, and there are 2 columns"},
		{map[string]any{"path": "a.json", "format": "json"}, "it is no JSON: line 2, column 8"},
		{map[string]any{"path": "a.json", "format": "text", "root": "r", "missing_ok": false}, ""},
		{map[string]any{"path": "big.txt"}, "has more than 4194304 bytes"},
	} {
		if c.want == "" {
			b.gives("read", c.input)
			continue
		}
		failed := b.Call("read", c.input).Err
		if failed == nil || failed.Code != sdk.CodeUnexpectedResponse || !strings.Contains(failed.Message, c.want) || failed.Hint == "" && strings.Contains(c.want, "UTF") {
			t.Errorf("%v: %+v, want %q", c.input, failed, c.want)
		}
	}
	b.fails("read", map[string]any{"path": "none.txt"}, sdk.CodeNotFound, "")
	b.fails("read", map[string]any{"path": "."}, sdk.CodeInvalid, "")
	b.folder(filepath.Join(b.root, "dir"))
	b.fails("read", map[string]any{"path": "dir"}, sdk.CodeConflict, "folder")
	if err := syscall.Mkfifo(filepath.Join(b.root, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	b.fails("read", map[string]any{"path": "pipe"}, sdk.CodeForbidden, "not_a_file")
}

// The narrowed output is what comes: with each format, with an answer and with references.
func TestTypesTheOutputByFormatAndAnswer(t *testing.T) {
	b := open(t, nil)
	b.put("a.json", `{"list":[{"n":1}]}`)
	answer := map[string]any{"type": "object", "required": []string{"list"}, "properties": map[string]any{"list": map[string]any{"type": "array", "items": map[string]any{"$ref": "#/$defs/one"}}},
		"$defs": map[string]any{"one": map[string]any{"type": "object", "required": []string{"n"}, "properties": map[string]any{"n": map[string]any{"type": "integer"}}}}}
	for _, missing := range []bool{false, true} {
		for format, answer := range map[string]any{"text": nil, "lines": nil, "json": answer, "bytes": nil, "csv": nil} {
			input := map[string]any{"path": "a.json", "format": format, "missing_ok": missing}
			if answer != nil {
				input["answer"] = answer
			}
			problems, narrowed := b.ValidateNarrow("read", input)
			schema, err := sdk.ParseSchema(narrowed)
			if len(problems) > 0 || err != nil {
				t.Errorf("%v: %v, %v in %s", input, problems, err, narrowed)
				continue
			}
			if format == "csv" {
				continue
			}
			if wrong := schema.Check(b.Call("read", input).Output); len(wrong) > 0 {
				t.Errorf("%v: the output does not fit %s: %v", input, narrowed, wrong)
			}
		}
	}
	if _, narrowed := b.ValidateNarrow("read", map[string]any{"path": "a.json", "format": "json", "answer": answer}); !strings.Contains(string(narrowed), `"#/properties/json/$defs/one"`) {
		t.Errorf("the reference leads elsewhere: %s", narrowed)
	}
	for pointer, input := range map[string]map[string]any{
		"/answer":    {"path": "x", "answer": map[string]any{"type": "object"}},
		"/columns":   {"path": "x", "columns": []string{"a"}},
		"/path":      {"path": "../x"},
		"/delimiter": {"path": "x", "format": "csv", "delimiter": "\""},
	} {
		if problems := b.Validate("read", input); len(problems) != 1 || problems[0].Pointer != pointer {
			t.Errorf("%v: %v", input, problems)
		}
	}
	if problems := b.Validate("read", map[string]any{"path": "x", "format": "json"}, "/answer"); len(problems) != 1 {
		t.Errorf("an answer that is computed: %v", problems)
	}
}

func TestListsInTheOrderOfPaths(t *testing.T) {
	b := open(t, nil)
	for _, name := range []string{"b/2.txt", "b/1.csv", "a.txt", "c.csv", ".hidden", "b.txt", ".flowrun-00.tmp"} {
		b.put(name, name)
	}
	paths := func(output map[string]any, list string) string {
		var found []string
		for _, entry := range output[list].([]any) {
			found = append(found, entry.(map[string]any)["path"].(string))
		}
		return strings.Join(found, " ")
	}
	for want, input := range map[string]map[string]any{
		"a.txt b.txt c.csv":                 {},
		"a.txt b.txt b/1.csv b/2.txt c.csv": {"recursive": true},
		"b/1.csv c.csv":                     {"recursive": true, "match": "*.csv"},
		"b":                                 {"kind": "folder"},
		".hidden a.txt b.txt c.csv":         {"hidden": true},
		"b/1.csv b/2.txt":                   {"path": "b"},
	} {
		if got := paths(b.gives("list", input), "entries"); got != want {
			t.Errorf("%v lists %q, want %q", input, got, want)
		}
	}
	var pages []string
	cursor := ""
	for range 10 {
		result := b.Call("list", map[string]any{"recursive": true, "limit": 2}, sdktest.Page(cursor))
		var output struct {
			Entries []struct{ Path string }
			Next    string
		}
		result.Decode(t, &output)
		for _, e := range output.Entries {
			pages = append(pages, e.Path)
		}
		if cursor = result.Next; cursor != output.Next {
			t.Errorf("it shows %q and gives %q", output.Next, cursor)
		}
		if cursor == "" {
			break
		}
	}
	if got := strings.Join(pages, " "); got != "a.txt b.txt b/1.csv b/2.txt c.csv" {
		t.Errorf("pages %q", got)
	}
	b.fails("list", map[string]any{"path": "none"}, sdk.CodeNotFound, "")
}

func TestWatchLeavesWhatIsBeingWritten(t *testing.T) {
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	top := t.TempDir()
	for name, age := range map[string]time.Duration{"old.csv": time.Hour, "new.csv": 10 * time.Second, "fresh.csv": time.Second, "future.csv": -time.Hour, "note.txt": time.Hour} {
		path := filepath.Join(top, name)
		if err := errors.Join(os.WriteFile(path, nil, 0o600), os.Chtimes(path, now, now.Add(-age))); err != nil {
			t.Fatal(err)
		}
	}
	p := sdktest.Open(t, files.NewWith(files.Options{Now: func() time.Time { return now }}), map[string]any{"roots": map[string]any{"in": map[string]any{"path": top}}})
	var output files.WatchOutput
	p.Call("watch", map[string]any{"match": "*.csv"}).Decode(t, &output)
	var names []string
	for _, item := range output.Items {
		names = append(names, item.Name)
	}
	if got := strings.Join(names, " "); got != "future.csv new.csv old.csv" || output.More {
		t.Errorf("it gives %q, more %v", got, output.More)
	}
	p.Call("watch", map[string]any{"match": "*.csv", "limit": 1}).Decode(t, &output)
	if len(output.Items) != 1 || !output.More {
		t.Errorf("one of three: %+v", output)
	}
}

func TestWritesAsAWholeAndOnce(t *testing.T) {
	b := open(t, nil)
	for _, c := range []struct {
		input map[string]any
		want  string
	}{
		{map[string]any{"path": "a/b/c.txt", "content": "häl"}, "häl"},
		{map[string]any{"path": "l", "format": "lines", "content": []string{"a", "", "b"}}, "a\n\nb\n"},
		{map[string]any{"path": "j", "format": "json", "content": map[string]any{"a": 1}}, "{\"a\":1}\n"},
		{map[string]any{"path": "c", "format": "csv", "content": []any{map[string]any{"a": 1, "b": "x,y"}, map[string]any{"a": nil, "b": true}}}, "a,b\n1,\"x,y\"\n,true\n"},
		{map[string]any{"path": "x", "format": "bytes", "content": "AP8="}, "\x00\xff"},
	} {
		first, again := b.gives("write", c.input), b.gives("write", c.input)
		if b.held(c.input["path"].(string)) != c.want || first["changed"] != true || again["changed"] != false || first["sha256"] != again["sha256"] {
			t.Errorf("%v: %q, %v, %v", c.input, b.held(c.input["path"].(string)), first, again)
		}
	}
	if got := b.names("a/b"); !slices.Equal(got, []string{"c.txt"}) {
		t.Errorf("beside the file: %v", got)
	}
	for pointer, input := range map[string]map[string]any{
		"/content":     {"path": "x", "content": 5},
		"/content/1":   {"path": "x", "format": "lines", "content": []any{"a", "b\nc"}},
		"/content/0/a": {"path": "x", "format": "csv", "content": []any{map[string]any{"a": []int{1}}}},
		"/mode":        {"path": "x", "content": "", "mode": "4755"},
	} {
		if problems := b.Validate("write", input); len(problems) != 1 || problems[0].Pointer != pointer {
			t.Errorf("%v: %v", input, problems)
		}
	}
}

func TestWhatBecomesOfAFileThatIsThere(t *testing.T) {
	b := open(t, nil)
	b.put("f", "old")
	if err := os.Chmod(filepath.Join(b.root, "f"), 0o640); err != nil {
		t.Fatal(err)
	}
	b.fails("write", map[string]any{"path": "f", "content": "new", "exists": "fail"}, sdk.CodeConflict, "exists")
	if kept := b.gives("write", map[string]any{"path": "f", "content": "new", "exists": "keep"}); kept["changed"] != false || b.held("f") != "old" {
		t.Errorf("kept: %v", kept)
	}
	b.fails("write", map[string]any{"path": "f", "content": "new", "if_sha256": strings.Repeat("0", 64)}, sdk.CodeConflict, "changed")
	sum := b.gives("read", map[string]any{"path": "f"})["sha256"]
	for range 2 { // the second time it has the new content already
		b.gives("write", map[string]any{"path": "f", "content": "new", "if_sha256": sum})
	}
	if info, err := os.Stat(filepath.Join(b.root, "f")); err != nil || info.Mode().Perm() != 0o640 || b.held("f") != "new" {
		t.Errorf("rights %v, %v", info.Mode(), err)
	}
	b.gives("write", map[string]any{"path": "f", "content": "new", "exists": "fail"}) // a repeated call finds what it wrote
	b.gives("write", map[string]any{"path": "f", "content": "new", "mode": "0600"})
	if info, _ := os.Stat(filepath.Join(b.root, "f")); info.Mode().Perm() != 0o600 {
		t.Errorf("rights %v", info.Mode())
	}
	b.folder(filepath.Join(b.root, "dir"))
	b.fails("write", map[string]any{"path": "dir", "content": ""}, sdk.CodeConflict, "folder")
	b.fails("write", map[string]any{"path": "f/x", "content": ""}, sdk.CodeConflict, "")
}

// A step of a write that fails leaves the old file, and nothing beside it.
func TestAWriteThatFailsLeavesWhatWas(t *testing.T) {
	for _, at := range []string{"write", "flush", "rename"} {
		for _, cause := range []error{syscall.ENOSPC, syscall.EIO} {
			b := open(t, func(step string) error {
				if step == at {
					return cause
				}
				return nil
			})
			b.put("f", "old")
			failed := b.Call("write", map[string]any{"path": "f", "content": "new"}).Err
			if failed == nil || failed.Applied != sdk.NotApplied || b.held("f") != "old" || !slices.Equal(b.names("."), []string{"f"}) {
				t.Errorf("%v at %s: %+v, %q, %v", cause, at, failed, b.held("f"), b.names("."))
			}
		}
	}
	b := open(t, func(step string) error {
		if step == "sync" {
			return syscall.EIO
		}
		return nil
	})
	if failed := b.Call("write", map[string]any{"path": "f", "content": "new"}).Err; failed == nil || failed.Applied != sdk.AppliedUnknown {
		t.Errorf("what is not durable: %+v", failed)
	}
}

func TestAppendsOnceForEachCall(t *testing.T) {
	fail := ""
	b := open(t, func(step string) error {
		if step == fail {
			return syscall.EIO
		}
		return nil
	})
	call := func(key, text string) sdktest.Result {
		return b.Call("append", map[string]any{"path": "log/x", "content": text}, sdktest.Key(key))
	}
	for _, step := range []struct{ key, text, held string }{
		{"k1", "one\n", "one\n"}, {"k1", "one\n", "one\n"}, {"k2", "two\n", "one\ntwo\n"}, {"k2", "two\n", "one\ntwo\n"}, {"k3", "two\n", "one\ntwo\ntwo\n"},
	} {
		if failed := call(step.key, step.text).Err; failed != nil || b.held("log/x") != step.held {
			t.Errorf("%v: %v, %q", step, failed, b.held("log/x"))
		}
	}
	// killed before it wrote, and inside of it
	fail = "append"
	if failed := call("k4", "four\n").Err; failed == nil {
		t.Error("it did not fail")
	}
	fail = ""
	for _, part := range []string{"", "fo"} {
		b.put("log/x", "one\ntwo\ntwo\n"+part)
		if failed := call("k4", "four\n").Err; part == "" && failed != nil || b.held("log/x") != "one\ntwo\ntwo\nfour\n" {
			t.Errorf("after %q: %v, %q", part, failed, b.held("log/x"))
		}
	}
	// others wrote where it would have
	fail = "append"
	call("k5", "five\n")
	fail = ""
	b.put("log/x", "one\ntwo\ntwo\nfour\nother\n")
	if failed := call("k5", "five\n").Err; failed == nil || failed.Code != sdk.CodeUnknownOutcome || failed.Reason != "others_wrote" {
		t.Errorf("others wrote: %+v", failed)
	}
}

func TestMovesOnceForEachCall(t *testing.T) {
	b := open(t, nil)
	b.put("a", "one")
	input := map[string]any{"path": "a", "to": "done/a"}
	if first := b.gives("move", input, sdktest.Key("k1")); first["path"] != "done/a" || b.held("done/a") != "one" {
		t.Errorf("moved: %v", first)
	}
	if again := b.gives("move", input, sdktest.Key("k1")); again["path"] != "done/a" {
		t.Errorf("again: %v", again)
	}
	b.put("a", "another") // dropped meanwhile: it is no part of that call
	if again := b.gives("move", input, sdktest.Key("k1")); b.held("a") != "another" || b.held("done/a") != "one" {
		t.Errorf("a file that came later: %v", again)
	}
	b.fails("move", input, sdk.CodeConflict, "exists", sdktest.Key("k2"))
	input["exists"] = "replace"
	if replaced := b.gives("move", input, sdktest.Key("k3")); b.held("done/a") != "another" {
		t.Errorf("replaced: %v", replaced)
	}
	b.fails("move", map[string]any{"path": "a", "to": "b"}, sdk.CodeNotFound, "", sdktest.Key("k4"))
	if removed := b.gives("remove", map[string]any{"path": "done/a"}); removed["changed"] != true {
		t.Errorf("removed: %v", removed)
	}
	b.fails("move", input, sdk.CodeUnknownOutcome, "others_wrote", sdktest.Key("k3"))
}

func TestRemovesAndFindsNothing(t *testing.T) {
	b := open(t, nil)
	b.put("d/f", "")
	b.fails("remove", map[string]any{"path": "d"}, sdk.CodeConflict, "not_empty")
	for i, want := range []bool{true, false} {
		if got := b.gives("remove", map[string]any{"path": "d", "recursive": true}); got["changed"] != want {
			t.Errorf("%d: %v", i, got)
		}
	}
	if got := b.gives("remove", map[string]any{"path": "no/such/folder"}); got["changed"] != false {
		t.Errorf("below nothing: %v", got)
	}
	if got := b.gives("stat", map[string]any{"path": "d"}); got["found"] != false || got["kind"] != nil {
		t.Errorf("stat: %v", got)
	}
}

func TestRootsAreHeldAgainstTheConfig(t *testing.T) {
	b := open(t, nil)
	config := map[string]any{"roots": map[string]any{"in": map[string]any{"path": "./in"}, "out": map[string]any{"path": "./out", "write": true}}}
	for _, c := range []struct {
		action string
		input  map[string]any
		want   string
	}{
		{"read", map[string]any{"root": "in", "path": "x"}, ""},
		{"read", map[string]any{"root": "inn", "path": "x"}, "/root the connection has no root `inn`: its roots are in, out; more are declared in its config"},
		{"read", map[string]any{"path": "x"}, " the connection has several roots: say which one: `root: in`, `root: out`"},
		{"write", map[string]any{"root": "in", "path": "x", "content": ""}, "/root the root `in` may only be read: declare it so: `roots: {in: {path: ./in, write: true}}`"},
		{"move", map[string]any{"root": "out", "path": "x", "to": "y", "to_root": "in"}, "/to_root the root `in` may only be read: declare it so: `roots: {in: {path: ./in, write: true}}`"},
	} {
		problems, _ := b.ValidateOn(c.action, config, nil, c.input)
		got := ""
		for _, p := range problems {
			got += p.Pointer + " " + p.Summary + ": " + p.Detail
		}
		if got != c.want {
			t.Errorf("%s %v: %q, want %q", c.action, c.input, got, c.want)
		}
	}
	for _, path := range []string{"/proc/self", "/sys", "/dev/shm/../fd", "a\x00b"} {
		if problems := b.Connect("other", map[string]any{"roots": map[string]any{"x": map[string]any{"path": path}}}); len(problems) != 1 {
			t.Errorf("a root at %q: %v", path, problems)
		}
	}
	p := sdktest.Open(t, files.NewWith(files.Options{Now: time.Now, Dir: t.TempDir()}), map[string]any{"roots": map[string]any{"x": map[string]any{"path": "./none"}}})
	if _, failed := p.CheckConnection(); failed == nil || failed.Code != sdk.CodeNotFound || !strings.Contains(failed.Hint, "mkdir -p ./none") {
		t.Errorf("a folder that is not there: %+v", failed)
	}
}

// A simulated connection works on a copy: nothing of the declared folder changes.
func TestASimulatedRootIsACopy(t *testing.T) {
	top := t.TempDir()
	real := filepath.Join(top, "real")
	if err := errors.Join(os.MkdirAll(real, 0o755), os.WriteFile(filepath.Join(real, "a.txt"), []byte("real"), 0o644)); err != nil {
		t.Fatal(err)
	}
	p := sdktest.Open(t, files.NewWith(files.Options{Now: time.Now, Random: strings.NewReader(strings.Repeat("r", 100)), Dir: top, Home: t.TempDir()}),
		map[string]any{"simulated": "x", "roots": map[string]any{"r": map[string]any{"path": "./real", "write": true}}})
	var read struct{ Text string }
	p.Call("read", map[string]any{"path": "a.txt"}).Decode(t, &read)
	p.Call("write", map[string]any{"path": "a.txt", "content": "changed"})
	p.Call("read", map[string]any{"path": "a.txt"}).Decode(t, &read)
	raw, err := os.ReadFile(filepath.Join(real, "a.txt"))
	if read.Text != "changed" || err != nil || string(raw) != "real" {
		t.Errorf("the copy %q, the folder %q, %v", read.Text, raw, err)
	}
	free := sdktest.Open(t, files.NewWith(files.Options{Now: time.Now, Random: strings.NewReader(strings.Repeat("r", 100)), Home: t.TempDir()}), map[string]any{"simulated": "x"})
	for _, action := range free.Describe().Actions {
		for _, example := range action.Examples {
			if failed := free.Call(action.Name, example.Input, sdktest.Key(example.Name)).Err; failed != nil {
				t.Errorf("the example %q of %s: %v", example.Name, action.Name, failed)
			}
		}
	}
}

func TestEveryEffectIsSaid(t *testing.T) {
	got := map[string]string{}
	for _, a := range open(t, nil).Describe().Actions {
		got[a.Name] = strings.ToLower(fmt.Sprint(a.Effect))
	}
	for name, want := range map[string]string{
		"read": "read", "list": "read", "stat": "read", "watch": "read", "write": "idempotent", "remove": "idempotent", "append": "keyed", "move": "keyed",
	} {
		if !strings.Contains(got[name], want) {
			t.Errorf("%s has the effect %s", name, got[name])
		}
	}
	if !reflect.DeepEqual(len(got), 8) {
		t.Errorf("actions %v", got)
	}
}

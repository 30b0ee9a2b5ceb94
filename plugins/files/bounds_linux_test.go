package files_test

import (
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

const canary = "canary-of-the-outside"

// attempt is one way out of a root.
type attempt struct {
	name   string
	make   func(b *bench) // the links that others have put there
	action string
	input  map[string]any
	// careless does what a program would do that does not look: it must reach the outside,
	// so that the try is one.
	careless func(b *bench, path string) error
}

// The ways in which programs without a root of their own go wrong.
func readJoined(b *bench, path string) error {
	_, err := readCanary(filepath.Join(b.root, path))
	return err
}

// readGlued lets the kernel resolve the path as it is.
func readGlued(b *bench, path string) error {
	_, err := readCanary(b.root + "/" + path)
	return err
}

func readAfter(change func(string) string) func(b *bench, path string) error {
	return func(b *bench, path string) error { return readGlued(b, change(path)) }
}

func readCanary(path string) (string, error) {
	raw, err := os.ReadFile(path)
	if err == nil && !strings.Contains(string(raw), canary) {
		err = os.ErrNotExist
	}
	return string(raw), err
}

func writeGlued(b *bench, path string) error {
	if err := os.MkdirAll(filepath.Dir(b.root+"/"+path), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(b.root+"/"+path, []byte("spoiled"), 0o644); err != nil {
		return err
	}
	return b.changedOutside()
}

// changedOutside reports, by nil, that something beside the root is not as it was.
func (b *bench) changedOutside() error {
	raw, err := os.ReadFile(filepath.Join(b.outside, "secret.txt"))
	entries, _ := os.ReadDir(b.outside)
	above, _ := os.ReadDir(filepath.Dir(b.root))
	if err != nil || string(raw) != canary || len(entries) != 2 || len(above) != 2 {
		return nil
	}
	return os.ErrExist
}

func (b *bench) link(name, target string) {
	b.t.Helper()
	b.folder(filepath.Dir(filepath.Join(b.root, name)))
	if err := os.Symlink(target, filepath.Join(b.root, name)); err != nil {
		b.t.Fatal(err)
	}
}

func attempts() []attempt {
	none := func(*bench) {}
	dir := func(b *bench) { b.link("d", b.outside) }
	read := func(path string) map[string]any { return map[string]any{"path": path} }
	var all []attempt
	add := func(name string, make func(*bench), action string, input map[string]any, careless func(*bench, string) error) {
		all = append(all, attempt{name, make, action, input, careless})
	}
	add("dots", none, "read", read("../outside/secret.txt"), readJoined)
	add("dots behind a folder", none, "read", read("a/../../outside/secret.txt"), readJoined)
	add("dots behind a dot", none, "read", read("./../outside/secret.txt"), readJoined)
	add("many dots", none, "read", read(strings.Repeat("a/", 30)+strings.Repeat("../", 31)+"outside/secret.txt"), readJoined)
	add("dots at the end", none, "list", read("a/../../outside"), func(b *bench, _ string) error { return readJoined(b, "a/../../outside/secret.txt") })
	add("an absolute path", none, "read", read("/OUT/secret.txt"), func(_ *bench, path string) error { _, err := readCanary(path); return err })
	add("two slashes", none, "read", read("//OUT/secret.txt"), func(_ *bench, path string) error { _, err := readCanary(path); return err })
	add("a link to a file", func(b *bench) { b.link("l", filepath.Join(b.outside, "secret.txt")) }, "read", read("l"), readJoined)
	add("a relative link to a file", func(b *bench) { b.link("l", "../outside/secret.txt") }, "read", read("l"), readJoined)
	add("a link to a folder", dir, "read", read("d/secret.txt"), readJoined)
	add("a relative link to a folder", func(b *bench) { b.link("d", "../outside") }, "read", read("d/secret.txt"), readJoined)
	add("a link to a link", func(b *bench) { b.link("one", "two"); b.link("two", "../outside") }, "read", read("one/secret.txt"), readJoined)
	add("a link in a folder", func(b *bench) { b.link("a/b/l", "../../../outside/secret.txt") }, "read", read("a/b/l"), readJoined)
	add("a link to the folder above", func(b *bench) { b.link("up", "..") }, "read", read("up/outside/secret.txt"), readJoined)
	add("a link to the root of all", func(b *bench) { b.link("all", "/") }, "read", read("all/OUT/secret.txt"), readJoined)
	add("a link with a slash behind it", dir, "list", read("d/"), func(b *bench, _ string) error { return readGlued(b, "d/secret.txt") })
	add("a link with a dot behind it", dir, "list", read("d/."), func(b *bench, _ string) error { return readGlued(b, "d/./secret.txt") })
	add("dots behind a link", func(b *bench) {
		b.folder(filepath.Join(b.outside, "deep"))
		b.link("d", filepath.Join(b.outside, "deep"))
	},
		"read", read("d/../secret.txt"), readGlued)
	add("the root of a process", func(b *bench) { b.link("p", "/proc/self/root") }, "read", read("p/OUT/secret.txt"), readJoined)
	add("the folder of a process", func(b *bench) { b.link("p", "/proc/self/cwd") }, "list", read("p"),
		func(b *bench, _ string) error { _, err := os.ReadDir(filepath.Join(b.root, "p")); return err })
	add("the environment of a process", func(b *bench) { b.link("p", "/proc/self/environ") }, "read", read("p"),
		func(b *bench, _ string) error { _, err := os.ReadFile(filepath.Join(b.root, "p")); return err })
	add("an open file of a process", func(b *bench) {
		file, err := os.Open(filepath.Join(b.outside, "secret.txt"))
		if err != nil {
			b.t.Fatal(err)
		}
		b.t.Cleanup(func() { _ = file.Close() })
		b.link("p", "/proc/self/fd/"+url.PathEscape(itoa(file.Fd())))
	}, "read", read("p"), readJoined)
	add("a hard link", func(b *bench) { b.hard("h") }, "read", read("h"), readJoined)
	add("dots in percent", none, "read", read("%2e%2e/outside/secret.txt"), readAfter(unescaped))
	add("dots in percent, twice", none, "read", read("%252e%252e%252foutside/secret.txt"), readAfter(func(s string) string { return unescaped(unescaped(s)) }))
	add("a backslash", none, "read", read(`..\outside\secret.txt`), readAfter(func(s string) string { return strings.ReplaceAll(s, `\`, "/") }))
	add("dots that are wide", none, "read", read("．．/outside/secret.txt"), readAfter(func(s string) string { return strings.ReplaceAll(s, "．", ".") }))
	add("one dot of two", none, "read", read("‥/outside/secret.txt"), readAfter(func(s string) string { return strings.ReplaceAll(s, "‥", "..") }))
	add("a wide slash", none, "read", read("..／outside／secret.txt"), readAfter(func(s string) string { return strings.ReplaceAll(s, "／", "/") }))
	add("dots that a filter leaves", none, "read", read("....//outside/secret.txt"), readAfter(func(s string) string { return strings.Replace(s, "../", "", 1) }))
	add("a letter that joins to nothing", none, "read", read("..\u200b/outside/secret.txt"), readAfter(func(s string) string { return strings.ReplaceAll(s, "\u200b", "") }))
	add("a NUL behind a link", func(b *bench) { b.link("l", "../outside/secret.txt") }, "read", read("l\x00.txt"), readAfter(beforeNUL))
	add("a NUL behind dots", none, "read", read("../outside/secret.txt\x00/a"), readAfter(beforeNUL))
	add("another case", func(b *bench) { b.link("LINK", "../outside/secret.txt") }, "read", read("link"), readAfter(strings.ToUpper))
	add("another form of a letter", func(b *bench) { b.link("e\u0301", "../outside/secret.txt") }, "read", read("\u00e9"),
		readAfter(func(s string) string { return strings.ReplaceAll(s, "\u00e9", "e\u0301") }))
	add("a tree with a link in it", dir, "list", map[string]any{"recursive": true, "kind": "any"},
		func(b *bench, _ string) error { _, err := os.ReadDir(filepath.Join(b.root, "d")); return err })
	add("a link that is looked at", dir, "stat", read("d/secret.txt"), readJoined)
	add("a link that is watched", dir, "watch", map[string]any{"path": "d", "settled_s": 0}, func(b *bench, _ string) error { return readJoined(b, "d/secret.txt") })
	write := func(path string) map[string]any { return map[string]any{"path": path, "content": "spoiled"} }
	add("a write with dots", none, "write", write("../evil.txt"), writeGlued)
	add("a write through a link to a folder", dir, "write", write("d/evil.txt"), writeGlued)
	add("folders made through a link", dir, "write", write("d/new/evil.txt"), writeGlued)
	add("a write through a link to a file", func(b *bench) { b.link("l", "../outside/secret.txt") }, "write", write("l"), writeGlued)
	add("a write through a link to nothing", func(b *bench) { b.link("l", "../outside/evil.txt") }, "write", write("l"), writeGlued)
	add("an append with dots", none, "append", write("../evil.txt"), writeGlued)
	add("an append through a link", func(b *bench) { b.link("l", "../outside/secret.txt") }, "append", write("l"), writeGlued)
	add("an append to a hard link", func(b *bench) { b.hard("h") }, "append", write("h"), writeGlued)
	add("an append through a link to a folder", dir, "append", write("d/secret.txt"), writeGlued)
	renamed := func(b *bench, from, to string) error {
		if err := os.Rename(b.root+"/"+from, b.root+"/"+to); err != nil {
			return err
		}
		return b.changedOutside()
	}
	mine := func(make func(*bench)) func(*bench) { return func(b *bench) { b.put("mine.txt", "mine"); make(b) } }
	add("a move with dots", mine(none), "move", map[string]any{"path": "mine.txt", "to": "../evil.txt"}, func(b *bench, p string) error { return renamed(b, p, "../evil.txt") })
	add("a move through a link", mine(dir), "move", map[string]any{"path": "mine.txt", "to": "d/evil.txt"}, func(b *bench, p string) error { return renamed(b, p, "d/evil.txt") })
	add("a move out of a link", dir, "move", map[string]any{"path": "d/secret.txt", "to": "mine.txt"}, func(b *bench, p string) error { return renamed(b, p, "mine.txt") })
	removed := func(b *bench, path string) error {
		if err := os.RemoveAll(b.root + "/" + path); err != nil {
			return err
		}
		return b.changedOutside()
	}
	add("a removal with dots", none, "remove", read("../outside/secret.txt"), removed)
	add("a removal through a link", dir, "remove", read("d/secret.txt"), removed)
	add("a removal of what a link holds", dir, "remove", map[string]any{"path": "d", "recursive": true},
		func(b *bench, path string) error { return removed(b, path+"/secret.txt") })
	return all
}

func (b *bench) hard(name string) {
	b.t.Helper()
	if err := os.Link(filepath.Join(b.outside, "secret.txt"), filepath.Join(b.root, name)); err != nil {
		b.t.Fatal(err)
	}
}

func unescaped(text string) string {
	plain, err := url.PathUnescape(text)
	if err != nil {
		return text
	}
	return plain
}

func beforeNUL(text string) string {
	before, _, _ := strings.Cut(text, "\x00")
	return before
}

func itoa(n uintptr) string {
	digits := ""
	for ; n > 0; n /= 10 {
		digits = string(rune('0'+n%10)) + digits
	}
	return digits
}

// begin makes the outside and what an attempt needs, and names the outside in its path.
func (a attempt) begin(t *testing.T) (*bench, map[string]any, string) {
	t.Helper()
	b := open(t, nil)
	if err := os.WriteFile(filepath.Join(b.outside, "secret.txt"), []byte(canary), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(b.outside, "other.txt"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	a.make(b)
	input := map[string]any{}
	for name, value := range a.input {
		if text, ok := value.(string); ok && name != "content" {
			value = strings.ReplaceAll(text, "/OUT", b.outside)
		}
		input[name] = value
	}
	path, _ := input["path"].(string)
	return b, input, path
}

// TestNoPathLeavesItsRoot: nothing of the outside is told or changed, whatever lies in the
// root and whatever a step asks for.
func TestNoPathLeavesItsRoot(t *testing.T) {
	all := attempts()
	if len(all) < 50 {
		t.Fatalf("%d tries", len(all))
	}
	for _, a := range all {
		t.Run(strings.ReplaceAll(a.name, " ", "_"), func(t *testing.T) {
			b, input, _ := a.begin(t)
			deep := len(b.below(b.outside))
			result := b.Call(a.action, input)
			told := string(result.Output)
			if result.Err != nil {
				told = result.Err.Error() + result.Err.Hint
			}
			if strings.Contains(told, canary) || strings.Contains(told, "secret.txt\",\"name") {
				t.Errorf("it tells of the outside: %s", told)
			}
			raw, err := os.ReadFile(filepath.Join(b.outside, "secret.txt"))
			if err != nil || string(raw) != canary || len(b.below(b.outside)) != deep || len(b.below(filepath.Dir(b.root))) == 0 {
				t.Errorf("the outside is changed: %q %v %v", raw, err, b.below(b.outside))
			}
			if above, err := os.ReadDir(filepath.Dir(b.root)); err != nil || len(above) != 2 {
				t.Errorf("something is beside the root: %v %v", above, err)
			}
		})
	}
}

func (b *bench) below(dir string) []string {
	var names []string
	_ = filepath.WalkDir(dir, func(path string, _ os.DirEntry, _ error) error { names = append(names, path); return nil })
	return names
}

// TestEachTryIsOne is the control: a program that does not look reaches the outside by
// each of the tries.
func TestEachTryIsOne(t *testing.T) {
	for _, a := range attempts() {
		t.Run(strings.ReplaceAll(a.name, " ", "_"), func(t *testing.T) {
			b, _, path := a.begin(t)
			if err := a.careless(b, path); err != nil {
				t.Errorf("a careless program does not get out by %q: %v", path, err)
			}
		})
	}
}

// swapping exchanges a folder of the root for a link to the outside, over and over.
func (b *bench) swapping() (stop func()) {
	b.t.Helper()
	b.put("d/secret.txt", "inside")
	b.link("l", b.outside)
	ended, over := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(over)
		for {
			select {
			case <-ended:
				return
			default:
				_ = unix.Renameat2(unix.AT_FDCWD, filepath.Join(b.root, "d"), unix.AT_FDCWD, filepath.Join(b.root, "l"), unix.RENAME_EXCHANGE)
			}
		}
	}()
	return func() { close(ended); <-over }
}

// TestNoRaceLeavesTheRoot: a folder that is exchanged for a link while it is used leads
// nowhere. The control looks before it opens, and is led out.
func TestNoRaceLeavesTheRoot(t *testing.T) {
	begin := func(t *testing.T) *bench {
		t.Helper()
		b := open(t, nil)
		if err := os.WriteFile(filepath.Join(b.outside, "secret.txt"), []byte(canary), 0o644); err != nil {
			t.Fatal(err)
		}
		stop := b.swapping()
		t.Cleanup(stop)
		return b
	}
	for action, input := range map[string]map[string]any{
		"read": {"path": "d/secret.txt"}, "write": {"path": "d/new.txt", "content": "x"}, "append": {"path": "d/secret.txt", "content": "x"},
		"list": {"path": "d"}, "stat": {"path": "d/secret.txt", "digest": true}, "watch": {"path": "d", "settled_s": 0},
		"remove": {"path": "d/gone.txt"}, "move": {"path": "d/secret.txt", "to": "d/moved.txt", "exists": "replace"},
	} {
		t.Run(action, func(t *testing.T) {
			b := begin(t)
			for range 400 {
				if told := string(b.Call(action, input).Output); strings.Contains(told, canary) {
					t.Fatalf("it tells of the outside: %s", told)
				}
				raw, err := os.ReadFile(filepath.Join(b.outside, "secret.txt"))
				entries, _ := os.ReadDir(b.outside)
				if err != nil || string(raw) != canary || len(entries) != 1 {
					t.Fatalf("the outside is changed: %q %v %v", raw, err, entries)
				}
			}
		})
	}
	t.Run("control", func(t *testing.T) {
		b := begin(t)
		for {
			info, err := os.Lstat(filepath.Join(b.root, "d"))
			if err != nil || !info.IsDir() {
				continue
			}
			if _, err := readCanary(filepath.Join(b.root, "d/secret.txt")); err == nil {
				return
			}
		}
	})
}

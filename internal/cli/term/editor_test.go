//go:build linux

package term

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// openPair opens both ends of a terminal: what is written on the first is typed on the second.
func openPair(t *testing.T) (master, slave *os.File) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no terminals here: %v", err)
	}
	t.Cleanup(func() { _ = master.Close() })
	number, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		slave, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = slave.Close() })
	return master, slave
}

// modes are those of a terminal.
func modes(t *testing.T, file *os.File) unix.Termios {
	t.Helper()
	found, err := unix.IoctlGetTermios(int(file.Fd()), getTermios)
	if err != nil {
		t.Fatal(err)
	}
	return *found
}

// TestKeysBetweenLinesAreKept: what is typed while an answer is printed counts, Ctrl-D too,
// and the terminal is as before in the end.
func TestKeysBetweenLinesAreKept(t *testing.T) {
	master, slave := openPair(t)
	before := modes(t, slave)
	keys := func(text string) {
		t.Helper()
		if _, err := io.WriteString(master, text); err != nil {
			t.Fatal(err)
		}
	}
	editor, err := OpenEditor(slave, io.Discard, "> ", func(string) (string, []string) { return "", nil })
	if err != nil {
		t.Fatal(err)
	}
	keys("one\r")
	if line, err := editor.Read(); line != "one" || err != nil {
		t.Fatalf("the first line is %q (%v)", line, err)
	}
	between := modes(t, slave)
	if between.Lflag&(unix.ICANON|unix.ISIG|unix.ECHO) != 0 || between.Oflag&unix.OPOST == 0 {
		t.Errorf("between two lines the terminal keeps keys to itself: %+v", between)
	}
	keys("\x04")
	if line, err := editor.Read(); !errors.Is(err, io.EOF) {
		t.Errorf("Ctrl-D is %q (%v)", line, err)
	}
	if err := editor.Close(); err != nil {
		t.Fatal(err)
	}
	if after := modes(t, slave); after != before {
		t.Errorf("the terminal is %+v in the end, and was %+v", after, before)
	}
}

func TestTabMakesAWordLonger(t *testing.T) {
	words := []string{"inputs", "inputs.name", "startsWith(", "steps"}
	complete := func(line string) (string, []string) {
		word := line[strings.LastIndex(line, " ")+1:]
		return word, slices.DeleteFunc(slices.Clone(words), func(w string) bool { return !strings.HasPrefix(w, word) || word == "" })
	}
	for _, c := range []struct {
		line, longer string
		pos, at      int
		choices      int
	}{
		{"1 + inp", "1 + inputs", 7, 10, 0},
		{"inputs.n", "inputs.name", 8, 11, 0},
		{"st", "st", 2, 2, 2},
		{"sta x", "startsWith( x", 3, 11, 0},
		{"nothing", "nothing", 7, 7, 0},
		{"", "", 0, 0, 0},
	} {
		longer, at, choices := completed(c.line, c.pos, complete)
		if longer != c.longer || at != c.at || len(choices) != c.choices {
			t.Errorf("%q at %d becomes %q at %d, %q", c.line, c.pos, longer, at, choices)
		}
	}
}

func TestOnlyATerminalIsEdited(t *testing.T) {
	if _, err := OpenEditor(strings.NewReader("x"), &strings.Builder{}, "> ", nil); !errors.Is(err, ErrNoTerminal) {
		t.Errorf("a reader was asked: %v", err)
	}
}

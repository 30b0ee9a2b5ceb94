package pluginlog

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Last returns the last lines that are kept of a plugin, at most that many; 0 = all.
func Last(dir, plugin string, most int) ([]Line, error) {
	path := filepath.Join(dir, plugin+".log")
	lines := []Line{}
	for _, file := range []string{before(path), path} {
		data, err := os.ReadFile(file)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("read the log of plugin %s: %w", plugin, err)
		}
		more, _ := parse(data)
		lines = append(lines, more...)
	}
	if most > 0 {
		lines = lines[max(len(lines)-most, 0):]
	}
	return lines, nil
}

// parse reads the whole lines of a text and returns what stands behind them. What is no
// line of a log is passed over.
func parse(data []byte) (lines []Line, rest []byte) {
	for {
		text, behind, whole := bytes.Cut(data, []byte("\n"))
		if !whole {
			return lines, data
		}
		data = behind
		var line Line
		if json.Unmarshal(text, &line) == nil {
			lines = append(lines, line)
		}
	}
}

// Follower reads what is written to a plugin's log from now on. Not safe for concurrent
// use.
type Follower struct {
	path string
	file *os.File // nil = there was none yet
	rest []byte
}

// Follow begins at the end of what is there.
func Follow(dir, plugin string) (*Follower, error) {
	f := &Follower{path: filepath.Join(dir, plugin+".log")}
	file, err := os.Open(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		return f, nil
	}
	if err == nil {
		_, err = file.Seek(0, io.SeekEnd)
	}
	if err != nil {
		return nil, fmt.Errorf("follow the log of plugin %s: %w", plugin, err)
	}
	f.file = file
	return f, nil
}

// Next returns the lines that came since it was called last. Where a plugin prints more in
// between than is kept, the oldest of it are gone.
func (f *Follower) Next() ([]Line, error) {
	var lines []Line
	for {
		if f.file == nil {
			file, err := os.Open(f.path)
			if errors.Is(err, fs.ErrNotExist) {
				return lines, nil
			}
			if err != nil {
				return lines, fmt.Errorf("follow the log of a plugin: %w", err)
			}
			f.file, f.rest = file, nil
		}
		_, isAt := at(f.file, f.path) // before it is read: what is full is not written any more
		data, err := io.ReadAll(f.file)
		if err != nil {
			return lines, fmt.Errorf("follow the log of a plugin: %w", err)
		}
		var more []Line
		more, f.rest = parse(append(f.rest, data...))
		lines = append(lines, more...)
		if isAt {
			return lines, nil
		}
		f.Close()
	}
}

// Close ends it.
func (f *Follower) Close() {
	if f.file != nil {
		_ = f.file.Close()
		f.file = nil
	}
}

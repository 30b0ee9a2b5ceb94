// Package pluginlog keeps the last of what plugins print, each in files of a bounded size
// in the state folder: who writes has masked it. Several processes may write at a time.
package pluginlog

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Kept is how many bytes are kept of one plugin at most: a file that is written, and the
// one before it, of half as many each.
const Kept = 256 << 10

// maxText bounds the text of a line, in bytes.
const maxText = 16 << 10

// The streams of lines.
const (
	Stderr = "stderr"
	Stdout = "stdout"
	Host   = "host" // what the host has to say of the plugin
)

// Line is one line that a plugin printed.
type Line struct {
	At     time.Time `json:"at"`
	Stream string    `json:"stream"`
	Text   string    `json:"text"`
}

// Log is the log of one plugin, to be written. Safe for concurrent use.
type Log struct {
	path string

	mu     sync.Mutex
	file   *os.File // nil = not open
	closed bool
}

// In returns the log of a plugin in a folder, which is made with the first line.
func In(dir, plugin string) *Log { return &Log{path: filepath.Join(dir, plugin+".log")} }

// before is the file that was written before this one.
func before(path string) string { return path + ".1" }

// Write adds a line.
func (l *Log) Write(line Line) error {
	if len(line.Text) > maxText {
		line.Text = line.Text[:maxText] + "…"
	}
	data, err := json.Marshal(line)
	if err != nil {
		return fmt.Errorf("write log of a plugin: %w", err)
	}
	data = append(data, '\n')
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil
	}
	if err := l.makeRoom(len(data)); err != nil {
		return fmt.Errorf("write log of a plugin: %w", err)
	}
	if _, err := l.file.Write(data); err != nil { // O_APPEND: whole, whoever else writes
		return fmt.Errorf("write log of a plugin: %w", err)
	}
	return nil
}

// makeRoom opens the file that is written now; a full one becomes the one before.
func (l *Log) makeRoom(more int) error {
	for {
		size, err := l.open()
		if err != nil || size == 0 || size+int64(more) <= Kept/2 {
			return err
		}
		if err := l.turn(); err != nil {
			return err
		}
	}
}

// open opens the file at the path, unless that is the open one, and returns its size.
func (l *Log) open() (int64, error) {
	if l.file != nil {
		if info, isAt := at(l.file, l.path); isAt {
			return info.Size(), nil
		}
		_ = l.file.Close()
		l.file = nil
	}
	if err := os.MkdirAll(filepath.Dir(l.path), 0o700); err != nil {
		return 0, err
	}
	file, err := os.OpenFile(l.path, os.O_WRONLY|os.O_APPEND|os.O_CREATE|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return 0, err
	}
	info, err := file.Stat()
	if err != nil {
		return 0, errors.Join(err, file.Close())
	}
	l.file = file
	return info.Size(), nil
}

// turn makes the full file the one before. Of several processes one does it.
func (l *Log) turn() error {
	if err := unix.Flock(int(l.file.Fd()), unix.LOCK_EX); err != nil {
		return err
	}
	defer func() {
		_ = l.file.Close() // gives the lock up too
		l.file = nil
	}()
	if _, isAt := at(l.file, l.path); !isAt {
		return nil // another process has done it
	}
	return os.Rename(l.path, before(l.path))
}

// at reports whether an open file is the one at a path.
func at(file *os.File, path string) (os.FileInfo, bool) {
	now, err := os.Lstat(path)
	if err != nil {
		return nil, false
	}
	info, err := file.Stat()
	return info, err == nil && os.SameFile(info, now)
}

// Close ends the writing: later lines are dropped.
func (l *Log) Close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	if l.file != nil {
		_ = l.file.Close()
		l.file = nil
	}
}

//go:build linux || darwin

package term

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"golang.org/x/sys/unix"
	"golang.org/x/term"
)

// Key is what a person pressed, as far as it means anything here.
type Key string

// The keys. An arrow or function key is neither, though it begins with an escape.
const (
	KeyEscape Key = "esc"
	KeyQ      Key = "q"
)

// Keys reads single keys from a terminal until stop is called, which must be,
// and which gives the terminal back as it was. Signals by key (Ctrl-C) stay what
// they are. ok is false where in is no terminal.
func Keys(in io.Reader) (keys <-chan Key, stop func() error, ok bool) {
	return keysBy(in, setTermios, func(read []byte) []Key {
		if key, ok := keyOf(read); ok {
			return []Key{key}
		}
		return nil
	})
}

// keysBy is Keys with the request that sets the modes of the terminal, and what makes keys of
// what one read gave.
func keysBy(in io.Reader, set uint, parse func(read []byte) []Key) (keys <-chan Key, stop func() error, ok bool) {
	file, isFile := in.(*os.File)
	if !isFile || !term.IsTerminal(int(file.Fd())) {
		return nil, func() error { return nil }, false
	}
	fd := int(file.Fd())
	before, err := unix.IoctlGetTermios(fd, getTermios)
	if err != nil {
		return nil, func() error { return nil }, false
	}
	single := *before
	single.Lflag &^= unix.ICANON | unix.ECHO
	single.Cc[unix.VMIN], single.Cc[unix.VTIME] = 0, 1 // a read ends after a tenth of a second
	if err := unix.IoctlSetTermios(fd, set, &single); err != nil {
		return nil, func() error { return nil }, false
	}
	pressed, done, ended := make(chan Key), make(chan struct{}), make(chan struct{})
	go readKeys(fd, parse, pressed, done, ended)
	var once sync.Once
	return pressed, func() (err error) {
		once.Do(func() {
			close(done)
			<-ended
			if failed := unix.IoctlSetTermios(fd, setTermios, before); failed != nil {
				err = fmt.Errorf("give the terminal back: %w", failed)
			}
		})
		return err
	}, true
}

func readKeys(fd int, parse func([]byte) []Key, pressed chan<- Key, done <-chan struct{}, ended chan<- struct{}) {
	defer close(ended)
	buffer := make([]byte, 64)
	for {
		select {
		case <-done:
			return
		default:
		}
		n, err := unix.Read(fd, buffer)
		if err != nil && !errors.Is(err, unix.EINTR) && !errors.Is(err, unix.EAGAIN) {
			return // the terminal is gone
		}
		for _, key := range parse(buffer[:max(n, 0)]) {
			select {
			case pressed <- key:
			case <-done:
				return
			}
		}
	}
}

// keyOf returns the key of what one read gave.
func keyOf(read []byte) (Key, bool) {
	if len(read) != 1 {
		return "", false
	}
	switch read[0] {
	case 0x1b:
		return KeyEscape, true
	case 'q', 'Q':
		return KeyQ, true
	}
	return "", false
}

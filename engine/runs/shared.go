package runs

import "sync"

// Shared is the text of a message that many readers get: the first one who needs it
// writes it for all. Safe for concurrent use; of a nil one each reader writes its own.
type Shared struct {
	once sync.Once
	text []byte
	err  error
}

// Text returns what write makes of the message. Nobody may change it.
func (s *Shared) Text(write func() ([]byte, error)) ([]byte, error) {
	if s == nil {
		return write()
	}
	s.once.Do(func() { s.text, s.err = write() })
	return s.text, s.err
}

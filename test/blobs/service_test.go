package blobs

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"testing"
	"time"
)

// pattern is a content of some size whose bytes tell their place. It takes no memory.
type pattern struct{ size, at int64 }

// Read is that of io.Reader.
func (p *pattern) Read(into []byte) (int, error) {
	if p.at >= p.size {
		return 0, io.EOF
	}
	n := int(min(int64(len(into)), p.size-p.at))
	var word [8]byte
	for i := 0; i < n; {
		binary.LittleEndian.PutUint64(word[:], uint64(p.at/8)*0x9e3779b97f4a7c15)
		copied := copy(into[i:n], word[p.at%8:])
		i, p.at = i+copied, p.at+int64(copied)
	}
	return n, nil
}

// Seek is that of io.Seeker.
func (p *pattern) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		offset += p.at
	case io.SeekEnd:
		offset += p.size
	}
	p.at = offset
	return offset, nil
}

// digest is that of the whole content.
func digestOf(size int64) string {
	sum := sha256.New()
	_, _ = io.Copy(sum, &pattern{size: size}) // a pattern is always there
	return "sha256:" + hex.EncodeToString(sum.Sum(nil))
}

// service serves one file, and takes one.
type service struct {
	*httptest.Server
	size   int64
	ranges bool
	// at is called once, when so many bytes of the file were sent; the rest waits for it.
	at     int64
	called func(context.Context)

	mu     sync.Mutex
	asked  []string // the ranges of requests, "" = the whole
	taken  int64    // bytes of what was put
	digest string   // of it
	length int64    // as it was announced
}

func serve(t *testing.T, s *service) *service {
	t.Helper()
	s.Server = httptest.NewServer(http.HandlerFunc(s.handle))
	t.Cleanup(s.Close)
	return s
}

func (s *service) handle(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodPut {
		sum := sha256.New()
		n, err := io.Copy(sum, r.Body)
		s.mu.Lock()
		defer s.mu.Unlock()
		if err == nil {
			s.taken, s.digest, s.length = n, "sha256:"+hex.EncodeToString(sum.Sum(nil)), r.ContentLength
		}
		return
	}
	s.mu.Lock()
	s.asked = append(s.asked, r.Header.Get("Range"))
	first := len(s.asked) == 1
	s.mu.Unlock()
	w.Header().Set("Content-Type", "application/octet-stream")
	content := io.ReadSeeker(&pattern{size: s.size})
	if first && s.called != nil {
		content = &stopping{pattern: pattern{size: s.size}, at: s.at, reached: func() { s.called(r.Context()) }}
	}
	if !s.ranges {
		w.Header().Set("Content-Length", strconv.FormatInt(s.size, 10))
		_, _ = io.Copy(w, content) // a client that is gone is the test
		return
	}
	w.Header().Set("Etag", `"one"`)
	http.ServeContent(w, r, "", time.Time{}, content)
}

func (s *service) requests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.asked...)
}

// stopping tells when a content was read up to a place.
type stopping struct {
	pattern
	at      int64
	reached func()
}

// Read is that of io.Reader.
func (s *stopping) Read(into []byte) (int, error) {
	if s.reached != nil && s.pattern.at >= s.at {
		s.reached()
		s.reached = nil
	}
	if s.reached != nil {
		into = into[:min(int64(len(into)), s.at-s.pattern.at)]
	}
	return s.pattern.Read(into)
}

func TestThePatternTellsItsPlace(t *testing.T) {
	whole, err := io.ReadAll(&pattern{size: 1003})
	if err != nil {
		t.Fatal(err)
	}
	p := &pattern{size: 1003}
	_, _ = p.Seek(501, io.SeekStart)
	rest, err := io.ReadAll(p)
	if err != nil || !bytes.Equal(rest, whole[501:]) || bytes.Equal(whole[:8], whole[8:16]) {
		t.Error("another content")
	}
}

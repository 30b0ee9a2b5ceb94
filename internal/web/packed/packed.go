// Package packed sends answers in gzip to those that take it.
package packed

import (
	"compress/gzip"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
)

// least is the size from which an answer is packed, in bytes.
const least = 1000

// Handler packs what a handler answers for clients that take it: answers of some
// length, and streams whatever their length, each piece with its flush. An answer
// that is packed already, or is a part of one, goes through as it is.
//
// The length of an answer tells nobody a secret: sessions are SameSite=Strict and
// tokens are sent by no browser, so no other site can make one ask.
func Handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Add("Vary", "Accept-Encoding")
		if !Accepted(r) {
			next.ServeHTTP(w, r)
			return
		}
		packed := &writer{ResponseWriter: w}
		next.ServeHTTP(packed, r) // where it panics the answer stays without its end
		packed.end()
	})
}

// Accepted reports whether a client takes gzip, and does not like plain answers
// better (RFC 9110, 12.5.3).
func Accepted(r *http.Request) bool {
	packed, plain, others := -1.0, -1.0, -1.0
	for part := range strings.SplitSeq(strings.Join(r.Header.Values("Accept-Encoding"), ","), ",") {
		name, parameters, _ := strings.Cut(part, ";")
		switch strings.ToLower(strings.TrimSpace(name)) {
		case "gzip", "x-gzip":
			packed = max(packed, weight(parameters))
		case "identity":
			plain = weight(parameters)
		case "*":
			others = weight(parameters)
		}
	}
	if packed < 0 {
		packed = others
	}
	return packed > 0 && packed >= plain
}

// weight reads a quality; one that can't be read is none.
func weight(parameters string) float64 {
	for parameter := range strings.SplitSeq(parameters, ";") {
		name, value, ok := strings.Cut(parameter, "=")
		if !ok || !strings.EqualFold(strings.TrimSpace(name), "q") {
			continue
		}
		quality, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
		if err != nil || quality < 0 || quality > 1 {
			return 0
		}
		return quality
	}
	return 1
}

// The packers of whole answers, and of streams: these are open for long, and the
// fast ones hold less.
var (
	wholes  = pool(gzip.DefaultCompression)
	streams = pool(gzip.BestSpeed)
)

func pool(level int) *sync.Pool {
	return &sync.Pool{New: func() any {
		packs, err := gzip.NewWriterLevel(io.Discard, level)
		if err != nil {
			return gzip.NewWriter(io.Discard) // the levels are the library's own
		}
		return packs
	}}
}

// writer decides with the first piece whether the answer is packed. Used by one
// request.
type writer struct {
	http.ResponseWriter
	pool    *sync.Pool
	packs   *gzip.Writer
	status  int
	decided bool
}

// WriteHeader keeps the status until it is known how the body is sent.
func (w *writer) WriteHeader(status int) {
	if w.status == 0 && status >= http.StatusOK {
		w.status = status
	}
}

// Write packs the piece, or sends it as it is.
func (w *writer) Write(piece []byte) (int, error) {
	if !w.decided {
		w.decide(len(piece))
	}
	if w.packs != nil {
		return w.packs.Write(piece)
	}
	return w.ResponseWriter.Write(piece)
}

// FlushError sends what was written so far: a reader can unpack all of it.
func (w *writer) FlushError() error {
	if !w.decided {
		w.decide(0)
	}
	if w.packs != nil {
		if err := w.packs.Flush(); err != nil {
			return err
		}
	}
	return http.NewResponseController(w.ResponseWriter).Flush()
}

func (w *writer) decide(size int) {
	w.decided = true
	header := w.Header()
	stream := isStream(header.Get("Content-Type"))
	if (size >= least || stream) && w.mayPack() {
		header.Set("Content-Encoding", "gzip")
		header.Del("Content-Length")
		if tag := header.Get("ETag"); tag != "" && !strings.HasPrefix(tag, "W/") {
			header.Set("ETag", "W/"+tag) // other bytes than those that it names
		}
		w.pool = wholes
		if stream {
			w.pool = streams
		}
		if packs, ok := w.pool.Get().(*gzip.Writer); ok {
			packs.Reset(w.ResponseWriter)
			w.packs = packs
		}
	}
	if w.status != 0 {
		w.ResponseWriter.WriteHeader(w.status)
	}
}

func isStream(kind string) bool {
	return strings.HasPrefix(kind, "text/event-stream") || strings.HasPrefix(kind, "application/x-ndjson")
}

// mayPack reports whether the answer is one that has a whole body of its own.
func (w *writer) mayPack() bool {
	header := w.Header()
	switch w.status {
	case http.StatusNoContent, http.StatusNotModified, http.StatusPartialContent:
		return false
	}
	if strings.HasPrefix(header.Get("Content-Disposition"), "attachment") {
		return false // a file: its length and its parts are those of the file
	}
	return header.Get("Content-Encoding") == "" && header.Get("Content-Range") == ""
}

// end sends what is left. The reader may be gone: then nobody is left to tell.
func (w *writer) end() {
	if !w.decided {
		w.decide(0)
	}
	if w.packs == nil {
		return
	}
	_ = w.packs.Close()
	w.packs.Reset(io.Discard) // it holds no request any more
	w.pool.Put(w.packs)
	w.packs = nil
}

// Unwrap lets http.ResponseController reach the connection.
func (w *writer) Unwrap() http.ResponseWriter { return w.ResponseWriter }

package page

import (
	"compress/gzip"
	"io"
	"net/http"
	"strings"
	"sync"
)

// gzipLeast is the size from which an answer is packed, in bytes.
const gzipLeast = 1000

// gzipped packs what a handler answers for browsers that take it. The length of
// a page tells nobody a secret: sessions are SameSite=Strict, so no other site
// can make a browser ask for one.
func gzipped(next http.Handler) http.Handler {
	pool := &sync.Pool{New: func() any { return gzip.NewWriter(io.Discard) }}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Add("Vary", "Accept-Encoding")
		if !takesGzip(r.Header.Get("Accept-Encoding")) {
			next.ServeHTTP(w, r)
			return
		}
		packed := &gzipWriter{ResponseWriter: w, pool: pool}
		defer packed.end()
		next.ServeHTTP(packed, r)
	})
}

// takesGzip reads Accept-Encoding: gzip without a quality of zero.
func takesGzip(accepts string) bool {
	for part := range strings.SplitSeq(accepts, ",") {
		name, quality, _ := strings.Cut(strings.TrimSpace(part), ";")
		if strings.EqualFold(strings.TrimSpace(name), "gzip") {
			weight := strings.ReplaceAll(strings.ToLower(quality), " ", "")
			return weight != "q=0" && strings.Trim(strings.TrimPrefix(weight, "q=0."), "0") != "" || weight == ""
		}
	}
	return false
}

// gzipWriter decides with the first piece whether the answer is packed. Used by
// one request.
type gzipWriter struct {
	http.ResponseWriter
	pool    *sync.Pool
	packs   *gzip.Writer
	status  int
	decided bool
}

// WriteHeader keeps the status until it is known how the body is sent.
func (g *gzipWriter) WriteHeader(status int) {
	if g.status == 0 {
		g.status = status
	}
}

// Write packs the piece, or sends it as it is.
func (g *gzipWriter) Write(piece []byte) (int, error) {
	if !g.decided {
		g.decide(len(piece))
	}
	if g.packs != nil {
		return g.packs.Write(piece)
	}
	return g.ResponseWriter.Write(piece)
}

func (g *gzipWriter) decide(size int) {
	g.decided = true
	header := g.Header()
	if size >= gzipLeast && header.Get("Content-Encoding") == "" {
		header.Set("Content-Encoding", "gzip")
		header.Del("Content-Length")
		if packs, ok := g.pool.Get().(*gzip.Writer); ok {
			packs.Reset(g.ResponseWriter)
			g.packs = packs
		}
	}
	if g.status != 0 {
		g.ResponseWriter.WriteHeader(g.status)
	}
}

// end sends what is left. The reader may be gone: then nobody is left to tell.
func (g *gzipWriter) end() {
	if !g.decided {
		g.decide(0)
	}
	if g.packs == nil {
		return
	}
	_ = g.packs.Close()
	g.pool.Put(g.packs)
	g.packs = nil
}

// Unwrap lets http.ResponseController reach the connection.
func (g *gzipWriter) Unwrap() http.ResponseWriter { return g.ResponseWriter }

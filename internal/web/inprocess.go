package web

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"sync"

	"github.com/flowrun/flowrun/engine/stack"
)

// InProcess returns a transport that answers requests with handler, without a
// connection: an owner is a client of its own API. Answers are streamed.
func InProcess(handler http.Handler) http.RoundTripper { return inProcess{handler} }

type inProcess struct{ handler http.Handler }

// RoundTrip returns as soon as the handler wrote its header.
func (t inProcess) RoundTrip(request *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancel(request.Context())
	served := request.Clone(ctx)
	served.RequestURI = request.URL.RequestURI()
	if served.Body == nil {
		served.Body = http.NoBody
	}
	reader, writer := io.Pipe()
	answer := &pipeWriter{pipe: writer, header: http.Header{}, ready: make(chan struct{})}
	go func() {
		stack.Grow()
		defer answer.finish()
		t.handler.ServeHTTP(answer, served)
	}()
	select {
	case <-answer.ready:
	case <-request.Context().Done():
		cancel()
		_ = reader.CloseWithError(request.Context().Err()) // the handler's writes end with it
		return nil, request.Context().Err()
	}
	return &http.Response{
		Status: fmt.Sprintf("%d %s", answer.status, http.StatusText(answer.status)), StatusCode: answer.status,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: answer.sent, Body: &pipeBody{PipeReader: reader, cancel: cancel}, ContentLength: -1, Request: request,
	}, nil
}

// pipeBody cancels the handler's context when the client is done with the body.
type pipeBody struct {
	*io.PipeReader
	cancel context.CancelFunc
}

func (b *pipeBody) Close() error {
	b.cancel()
	return b.PipeReader.Close()
}

// pipeWriter is the handler's side. Used by one goroutine; ready hands status
// and sent over to the client's.
type pipeWriter struct {
	pipe   *io.PipeWriter
	header http.Header
	sent   http.Header
	status int
	ready  chan struct{}
	once   sync.Once
}

func (w *pipeWriter) Header() http.Header { return w.header }

func (w *pipeWriter) WriteHeader(status int) {
	w.once.Do(func() {
		w.status, w.sent = status, w.header.Clone()
		close(w.ready)
	})
}

func (w *pipeWriter) Write(data []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	return w.pipe.Write(data)
}

// Flush lets http.ResponseController see that nothing is held back.
func (w *pipeWriter) Flush() { w.WriteHeader(http.StatusOK) }

func (w *pipeWriter) finish() {
	w.WriteHeader(http.StatusOK)
	_ = w.pipe.Close() // always nil
}

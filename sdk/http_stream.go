package sdk

import (
	"errors"
	"io"
	"net/http"
	"net/url"
)

// Upload is a body that is read while it is sent: a large value, a file. It is sent once.
type Upload struct {
	// Open begins to read it; what it returns is closed when the request has ended.
	Open func() (io.ReadCloser, error)
	Size int64 // bytes: they are announced as Content-Length
}

// BlobUpload is the body that a large value is.
func (c *Call[C]) BlobUpload(blob Blob) *Upload {
	return &Upload{Size: blob.Size, Open: func() (io.ReadCloser, error) { return c.OpenBlob(blob) }}
}

// cut is a body that ended before it was whole, or could not be read on.
type cutError struct{ err error }

func (e cutError) Error() string { return "the answer was cut short" }
func (e cutError) Unwrap() error { return e.err }

// arriving is the body of an answer that is taken as it comes: an error of the network
// is told from one of who takes it.
type arriving struct {
	body io.Reader
	read int64
	err  error
}

// Read is that of io.Reader.
func (a *arriving) Read(p []byte) (int, error) {
	n, err := a.body.Read(p)
	a.read += int64(n)
	if err != nil && !errors.Is(err, io.EOF) {
		a.err = cutError{err}
		return n, a.err
	}
	return n, err
}

// taken reports whether an answer is handed on as it comes: a success of a request that
// says so.
func taken(incoming *http.Response, request *Request) bool {
	return request.Take != nil && incoming.StatusCode >= 200 && incoming.StatusCode < 300
}

// take hands the body of an answer on.
func (h *HTTPClient) take(incoming *http.Response, request *Request) (*Response, error) {
	defer incoming.Body.Close()
	response := &Response{Status: incoming.StatusCode, Header: incoming.Header, core: h.core, method: incoming.Request.Method, url: incoming.Request.URL}
	if err := h.judge(response, request); err != nil {
		return nil, err
	}
	body := &arriving{body: incoming.Body}
	err := request.Take(response, body)
	if err == nil {
		return response, nil
	}
	if !errors.As(err, new(cutError)) || body.err == nil {
		return nil, err
	}
	if ctxErr := contextError(h.ctx, body.err); ctxErr != nil {
		return nil, response.Fail(ctxErr.Code, "%s after %d bytes of the answer", ctxErr.Message, body.read)
	}
	return nil, response.Fail(CodeUnavailable, "the answer was cut short after %d bytes%s", body.read, cutWords(stripURL(errors.Unwrap(body.err))))
}

// uploading makes an Upload the body of a request.
func uploading(outgoing *http.Request, upload *Upload) error {
	if upload.Size == 0 {
		outgoing.Body, outgoing.ContentLength = http.NoBody, 0
		return nil
	}
	body, err := upload.Open()
	if err != nil {
		failure := asError(err)
		failure.Applied = NotApplied
		return failure
	}
	outgoing.Body, outgoing.ContentLength = body, upload.Size
	return nil
}

// known is a response of before.
func (c *core) known(status int, header http.Header, from string) *Response {
	u, err := url.Parse(from)
	if err != nil {
		u = &url.URL{}
	}
	return &Response{Status: status, Header: header, core: c, method: http.MethodGet, url: u}
}

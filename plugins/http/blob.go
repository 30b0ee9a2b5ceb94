package http

import (
	"bytes"
	"errors"
	"io"

	"github.com/flowrun/flowrun/sdk"
)

// receive sends a request whose answer becomes a large value.
func (how reading) receive(c *sdk.Call[Config], request *sdk.Request) (output, error) {
	do := func(request *sdk.Request) (*sdk.Response, error) {
		return send(c, request, told{As: how.As, Answer: how.Answer})
	}
	blob, response, err := c.Download(request, sdk.BlobOptions{}, do)
	if err != nil {
		return output{}, err
	}
	out := output{Status: response.Status, OK: fine(response.Status), Kind: kindNone, Body: null, ErrorBody: null, URL: response.URL()}
	out.readHeaders(response)
	if !out.OK {
		_, out.ErrorBody = loosely(response)
		return out, nil
	}
	if how.Digest != "" && how.Digest != blob.Digest {
		failure := response.Fail(sdk.CodeUnexpectedResponse, "the content has the digest %s, and the step wants %s", blob.Digest, how.Digest)
		failure.Applied = sdk.AppliedFully
		return output{}, failure
	}
	out.Kind, out.Blob = kindBlob, &blob
	return out, nil
}

// put gives a request its body.
func (in writeInput) put(c *sdk.Call[Config], request *sdk.Request) error {
	switch {
	case in.Blob != nil:
		request.Upload = c.BlobUpload(*in.Blob)
		request.ContentType = or(in.ContentType, or(in.Blob.MediaType, "application/octet-stream"))
		return nil
	case in.Multipart != nil:
		content, splits, contentType, err := multipartBody(in.Multipart)
		if err != nil {
			return err
		}
		request.ContentType = contentType
		if len(splits) == 0 {
			request.Body = content
			return nil
		}
		request.Upload = upload(c, content, splits)
		return nil
	}
	var err error
	request.Body, request.ContentType, err = in.payload(in.Secrets, in.Lists)
	return err
}

// split is a place of a body at which a large value stands.
type split struct {
	at   int
	blob sdk.Blob
}

// upload is a body with large values in it, which are read as it is sent.
func upload(c *sdk.Call[Config], content []byte, splits []split) *sdk.Upload {
	size := int64(len(content))
	for _, s := range splits {
		size += s.blob.Size
	}
	return &sdk.Upload{Size: size, Open: func() (io.ReadCloser, error) {
		var all joined
		from := 0
		for _, s := range splits {
			all.open = append(all.open, opening(content[from:s.at]), func() (io.ReadCloser, error) { return c.OpenBlob(s.blob) })
			from = s.at
		}
		all.open = append(all.open, opening(content[from:]))
		return &all, nil
	}}
}

func opening(content []byte) func() (io.ReadCloser, error) {
	return func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content)), nil }
}

// joined reads several sources one after the other, each opened when it is due.
type joined struct {
	open []func() (io.ReadCloser, error)
	now  io.ReadCloser
}

// Read is that of io.Reader.
func (j *joined) Read(p []byte) (int, error) {
	for {
		if j.now == nil {
			if len(j.open) == 0 {
				return 0, io.EOF
			}
			next, err := j.open[0]()
			if err != nil {
				return 0, err
			}
			j.now, j.open = next, j.open[1:]
		}
		n, err := j.now.Read(p)
		if errors.Is(err, io.EOF) {
			_ = j.now.Close() // it was read
			j.now, err = nil, nil
		}
		if n > 0 || err != nil {
			return n, err
		}
	}
}

// Close is that of io.Closer.
func (j *joined) Close() error {
	if j.now == nil {
		return nil
	}
	return j.now.Close()
}

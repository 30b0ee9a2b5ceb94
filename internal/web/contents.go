package web

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"net/url"
	"reflect"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/flowrun/flowrun/engine/content"
	"github.com/flowrun/flowrun/engine/workspace"
	"github.com/flowrun/flowrun/internal/web/guard"
	"github.com/flowrun/flowrun/internal/web/saved"
	"github.com/flowrun/flowrun/internal/web/wire"
)

// registerContents adds what gives outputs and large values as files.
func registerContents(t *typed, s *server) {
	registerWhole(t, guard.Viewer, "GET /runs/{id}/outputs/{name}", huma.Operation{
		OperationID: "getOutput", Tags: []string{"runs"}, Metadata: map[string]any{longAnswers: true, responses: contentResponse}, Summary: "Get one output of a run as a file",
		Description: "Text as it is, rows of the format csv as CSV, a large value as its content, and every other value as JSON. " + partsText,
	}, s.output, wire.CodeConflict, wire.CodeNotFound)
	registerWhole(t, guard.Viewer, "GET /runs/{id}/blobs/{digest}", huma.Operation{
		OperationID: "getBlob", Tags: []string{"runs"}, Metadata: map[string]any{longAnswers: true, responses: contentResponse}, Summary: "Get a large value of a run",
		Description: "The digest is that of the reference in an output of the run or of one of its steps. " + partsText,
	}, s.blob, wire.CodeConflict, wire.CodeNotFound)
}

const partsText = "A part is asked for with `Range` (206, or 416 where there is none); the ETag is made of the content's digest, for `If-Range` and `If-None-Match`. " +
	"It is a file to save: it is sent as an attachment, and no browser runs it."

var contentResponse = also{"200", "The content.", "application/octet-stream", []reflect.Type{reflect.TypeFor[string]()}}

type outputRef struct {
	RunRef
	Name string `path:"name" doc:"The output's name."`
}

type blobRef struct {
	RunRef
	Digest string `path:"digest" doc:"sha256: and 64 hexadecimal digits."`
	Name   string `query:"name" doc:"The name to save it under; it is made safe."`
	Type   string `query:"type" doc:"Its media type. One that a browser could run is sent as application/octet-stream."`
}

// sent is a file that is sent: all of it, or the part that is asked for.
type sent struct {
	saved.File
	close func() error
}

// write is that of answer.
func (f *sent) write(x huma.Context, _ int) {
	r, w := humago.Unwrap(x)
	defer func() { _ = f.close() }() // it was read
	f.Send(w, r)
}

func (s *server) output(ctx context.Context, in *outputRef) (*sent, error) {
	output, err := s.Runs.Output(ctx, in.ID, in.Name)
	if err != nil {
		return nil, ofRun(in.ID, err)
	}
	if ref, is := content.ParseReference(output.Value); is {
		return s.opened(ctx, in.ID, ref)
	}
	data, err := workspace.RenderOutput(output.Format, output.Columns, output.Value)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(data)
	name, mediaType := in.Name+".json", "application/json"
	switch {
	case output.Format == workspace.FormatCSV:
		name, mediaType = in.Name+".csv", "text/csv; charset=utf-8"
	case output.Format != "":
		name, mediaType = in.Name+".md", "text/plain; charset=utf-8"
	case bytes.HasPrefix(output.Value, []byte{'"'}):
		name, mediaType = in.Name+".txt", "text/plain; charset=utf-8"
	}
	file := saved.File{Content: bytes.NewReader(data), Digest: "sha256:" + hex.EncodeToString(sum[:]), Name: name, MediaType: mediaType}
	return &sent{file, func() error { return nil }}, nil
}

func (s *server) blob(ctx context.Context, in *blobRef) (*sent, error) {
	return s.opened(ctx, in.ID, content.Reference{Digest: in.Digest, Name: in.Name, MediaType: in.Type})
}

// opened is a large value of a run as a file.
func (s *server) opened(ctx context.Context, id string, ref content.Reference) (*sent, error) {
	reader, err := s.Runs.OpenBlob(ctx, id, ref.Digest)
	if err != nil {
		return nil, ofRun(id, err)
	}
	file := saved.File{Content: io.NewSectionReader(reader, 0, reader.Size()), Digest: ref.Digest, Name: ref.Name, MediaType: ref.MediaType}
	return &sent{file, reader.Close}, nil
}

// Blob opens a large value of a run. Its content may be cut short: who reads it holds it
// against its digest.
func (c *Client) Blob(ctx context.Context, id, digest string) (io.ReadCloser, error) {
	response, err := c.send(ctx, http.MethodGet, runPath(id, "/blobs/"+url.PathEscape(digest)), nil, nil)
	if err != nil {
		return nil, err
	}
	return response.Body, nil
}

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"

	"google.golang.org/grpc/metadata"

	pluginv1 "github.com/flowrun/flowrun/sdk/proto/pluginv1"
)

// callKey names a call to the host.
const callKey = "flowrun-call-id"

// hasFile reports whether the plugin has the action that gives a large value.
func (p *plugin) hasFile() bool {
	return p.fault == "none" || p.fault == "told" || strings.HasPrefix(p.fault, "blobs.")
}

// file gives a large value, as the fault has it.
func (p *plugin) file(r *pluginv1.ExecuteRequest, s stream) error {
	if !r.GetBlobs() && !p.has("blobs.without") {
		return failed(s, &pluginv1.Error{Code: 16, Message: "the host keeps no large values", Applied: 1})
	}
	ctx := p.toHost(s.Context())
	if named := metadata.ValueFromIncomingContext(s.Context(), callKey); len(named) == 1 {
		ctx = metadata.AppendToOutgoingContext(ctx, callKey, named[0])
	}
	content := bytes.Repeat([]byte("a line of a file\n"), 200)
	at := uint64(0)
	if known, err := p.host.PutBlob(ctx, &pluginv1.PutBlobRequest{Upload: "file"}); err == nil {
		at = known.GetSize()
	}
	rest := content[min(at, uint64(len(content))):]
	switch {
	case p.has("blobs.resume"):
		rest = content // as if nothing had been sent
	case p.has("blobs.parts"):
		rest = bytes.Repeat([]byte("x"), 2<<20)
	}
	last, err := p.put(ctx, at, rest)
	if err != nil {
		return failed(s, &pluginv1.Error{Code: 18, Message: "the host takes no part", Applied: 1})
	}
	reference := last.GetReference().GetJson()
	if p.has("blobs.reference") {
		reference = []byte(`{"digest":"sha256:` + strings.Repeat("0", 64) + `","size":1,"media_type":"","name":""}`)
	}
	output, err := json.Marshal(map[string]json.RawMessage{"file": reference})
	if err != nil {
		return err
	}
	return p.complete(r, s, &pluginv1.Completed{Output: &pluginv1.Value{Json: output}})
}

// put sends what is left in two parts.
func (p *plugin) put(ctx context.Context, at uint64, rest []byte) (*pluginv1.PutBlobResponse, error) {
	first := rest[:len(rest)/2]
	if p.has("blobs.parts") {
		first = rest
	}
	if _, err := p.host.PutBlob(ctx, &pluginv1.PutBlobRequest{Upload: "file", Offset: at, Data: first}); err != nil {
		return nil, err
	}
	return p.host.PutBlob(ctx, &pluginv1.PutBlobRequest{Upload: "file", Offset: at + uint64(len(first)), Data: rest[len(first):], Last: true, Name: "file.txt"})
}

package web

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"

	"github.com/flowrun/flowrun/engine"
	"github.com/flowrun/flowrun/internal/web/wire"
)

// Body caps in bytes. A workflow of 1 MiB and its inputs come as base64 in JSON.
const (
	bodyCap      = 1 << 20
	localBodyCap = 16 << 20
)

// decodeBody reads exactly one JSON value of type application/json into into.
// Unknown fields, a second value and a body above limit are refused. An empty
// body is taken as {} when optional is set.
func decodeBody(w http.ResponseWriter, r *http.Request, limit int64, optional bool, into any) error {
	data, err := readWhole(w, r, limit)
	if err != nil || len(data) == 0 && optional && r.Header.Get("Content-Type") == "" {
		return err
	}
	if !isJSON(r.Header.Get("Content-Type")) {
		return wire.NewProblem(wire.CodeMediaType, "the body must be application/json")
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		return wire.NewProblem(wire.CodeBadRequest, "the body is not what this path takes: "+engine.JSONFault(err))
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return wire.NewProblem(wire.CodeBadRequest, "the body holds more than one JSON value")
	}
	return nil
}

// readWhole reads a body to its end.
func readWhole(w http.ResponseWriter, r *http.Request, limit int64) ([]byte, error) {
	data, err := io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
	if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
		return nil, wire.NewProblem(wire.CodeTooLarge, fmt.Sprintf("the body is larger than %d bytes", limit))
	}
	if err != nil {
		return nil, wire.NewProblem(wire.CodeBadRequest, "the body was cut before its end")
	}
	return data, nil
}

func isJSON(contentType string) bool {
	mediaType, params, err := mime.ParseMediaType(contentType)
	if err != nil || mediaType != "application/json" {
		return false
	}
	for name, value := range params {
		if name != "charset" || !strings.EqualFold(value, "utf-8") {
			return false
		}
	}
	return true
}

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
)

// Body caps in bytes. A workflow of 1 MiB and its inputs come as base64 in JSON.
const (
	bodyCap      = 1 << 20
	localBodyCap = 16 << 20
)

// decodeBody reads exactly one JSON value of type application/json into into.
// Unknown fields, a second value and a body above limit are refused. An empty
// body is taken as {} when optional is set.
func decodeBody(w http.ResponseWriter, r *http.Request, limit int64, optional bool, into any) *Problem {
	data, err := io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return newProblem(CodeTooLarge, fmt.Sprintf("the body is larger than %d bytes", limit))
	case err != nil:
		return newProblem(CodeBadRequest, bodyCut)
	case len(data) == 0 && optional && r.Header.Get("Content-Type") == "":
		return nil
	}
	if !isJSON(r.Header.Get("Content-Type")) {
		return newProblem(CodeMediaType, "the body must be application/json")
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		return newProblem(CodeBadRequest, "the body is not what this path takes: "+engine.JSONFault(err))
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return newProblem(CodeBadRequest, "the body holds more than one JSON value")
	}
	return nil
}

// bodyCut is what a client hears whose body did not come to its end.
const bodyCut = "the body was cut before its end"

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

// writeJSON answers with one JSON value and a line feed.
func writeJSON(w http.ResponseWriter, status int, value any) {
	data, err := encodeJSON(value)
	if err != nil {
		writeProblem(w, newProblem(CodeInternal, "encode the answer: "+err.Error()))
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(data) // the client is gone: nobody is left to tell
}

// replyWith is the end of a handler that asked the engine: its answer, or what err says.
func replyWith(w http.ResponseWriter, value any, err error) *Problem {
	if err != nil {
		return problemOf(err)
	}
	writeJSON(w, http.StatusOK, value)
	return nil
}

// encodeJSON encodes a value as answers hold it: text as it is, and a line feed.
func encodeJSON(value any) ([]byte, error) {
	var buffer bytes.Buffer
	encoder := json.NewEncoder(&buffer)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(value)
	return buffer.Bytes(), err
}

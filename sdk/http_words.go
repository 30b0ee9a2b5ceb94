package sdk

import (
	"errors"
	"io"
	"strings"
)

// transportFaults are what Go's HTTP client says of answers that are none, and
// what a person reads instead.
var transportFaults = []struct{ has, says string }{
	{"response headers exceeded", "the headers of the answer are larger than 64 KiB"},
	{"multiple Content-Length", "the answer gives its length twice, and differently"},
	{"bad Content-Length", "the answer gives no length that is a number"},
	{"unsupported transfer encoding", "the answer has a Transfer-Encoding that is not known"},
	{"too many transfer encodings", "the answer has several Transfer-Encodings"},
	{"malformed MIME header", "the headers of the answer are broken or cut short"},
	{"malformed HTTP", "what came back is no HTTP"},
	{"1xx", "the answer is made of interim responses only"},
	{"unexpected EOF", "the headers of the answer are cut short"},
	{"server closed", "the connection ended before an answer"},
	{"connection broken", "the connection ended before an answer"},
}

// networkWords says why there is no answer, without Go's words for it.
func networkWords(err error) string {
	if errors.Is(err, io.EOF) {
		return "the connection ended before an answer"
	}
	text := err.Error()
	for _, fault := range transportFaults {
		if strings.Contains(text, fault.has) {
			return fault.says
		}
	}
	return strings.TrimPrefix(strings.TrimPrefix(text, "net/http: "), "http: ")
}

// cutWords says why a body could not be read to its end, to be put behind a
// message: nothing where the connection just ended.
func cutWords(err error) string {
	text := err.Error()
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return ""
	case strings.HasPrefix(text, "gzip: "), strings.HasPrefix(text, "flate: "):
		return ": it says that it is packed with gzip, and is not"
	case strings.Contains(text, "chunk"):
		return ": its chunks can't be read"
	}
	return ": " + strings.TrimPrefix(text, "http: ")
}

package openapi

import (
	"crypto/sha256"
	"encoding/hex"
	"net/url"
	"strings"

	"github.com/flowrun/flowrun/plugins/internal/naming"
)

// unescape undoes percent-encoding where it is right.
func unescape(text string) string {
	if plain, err := url.PathUnescape(text); err == nil {
		return plain
	}
	return text
}

// nameOfPath makes the name of an operation without an operationId: GET /pets/{id} is
// get_pets_by_id.
func nameOfPath(method, path string) string {
	words := []string{strings.ToLower(method)}
	for segment := range strings.SplitSeq(path, "/") {
		if inner, ok := strings.CutPrefix(segment, "{"); ok {
			segment = "by_" + strings.TrimSuffix(inner, "}")
		}
		if segment != "" {
			words = append(words, segment)
		}
	}
	if len(words) == 1 {
		words = append(words, "root")
	}
	return naming.Action(strings.Join(words, "_"))
}

// mark tells operations of one name apart, whatever else the document has.
func mark(method, path string) string {
	sum := sha256.Sum256([]byte(method + " " + path))
	return hex.EncodeToString(sum[:3])
}

// fitted cuts a name that is too long, with a mark of the operation.
func fitted(name, method, path string) string {
	if len(name) <= naming.Max {
		return name
	}
	return strings.TrimRight(name[:naming.Max-7], "_") + "_" + mark(method, path)
}

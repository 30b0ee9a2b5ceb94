package taskssim

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/flowrun/flowrun/internal/simkit"
)

// refusal is an error of the service. The shape of its body is not documented;
// the simulator sends {"error", "message"}.
type refusal struct {
	status        int
	code, message string
}

func badRequest(message string) *refusal {
	return &refusal{http.StatusBadRequest, "INVALID_ARGUMENT", message}
}

func notFound(message string) *refusal {
	return &refusal{http.StatusNotFound, "NOT_FOUND", message}
}

// forbidden carries the one documented code (T-28).
func forbidden(message string) *refusal {
	return &refusal{http.StatusForbidden, "FORBIDDEN", message}
}

func unauthorized() *refusal {
	return &refusal{http.StatusUnauthorized, "UNAUTHORIZED", "Authentication credentials are missing or not valid."}
}

func fail(w http.ResponseWriter, r *refusal) {
	simkit.WriteJSON(w, r.status, map[string]string{"error": r.code, "message": r.message})
}

// serverID refuses placeholders, as the document says for every REST endpoint
// (T-05).
func serverID(name, id string) *refusal {
	if strings.HasPrefix(id, "tmp-") {
		return badRequest(name + ": a non-base32 digit was found")
	}
	return nil
}

// number reads an integer parameter. An absent one is the default.
func number(r *http.Request, name string, fallback, lowest, highest int64) (int64, *refusal) {
	values, there := r.URL.Query()[name]
	if !there {
		return fallback, nil
	}
	n, err := strconv.ParseInt(values[0], 10, 64)
	if err != nil || n < lowest || highest > 0 && n > highest {
		return 0, badRequest(name + ": the value is not within its bounds")
	}
	return n, nil
}

// object reads the body as an object, which E1, E6, E7, E8 and E11 require.
func object(r *http.Request) (map[string]any, *refusal) {
	if r.Header.Get("Content-Type") != "application/json" {
		return nil, badRequest("The body must be application/json.")
	}
	var body map[string]any
	decoder := json.NewDecoder(r.Body)
	decoder.UseNumber()
	if err := decoder.Decode(&body); err != nil || body == nil {
		return nil, badRequest("The body must be a JSON object.")
	}
	return body, nil
}

// texts collects every text in a value. The fields of bodies are not documented,
// so the simulator looks at values, not at names.
func texts(v any) []string {
	switch v := v.(type) {
	case string:
		return []string{v}
	case []any:
		var all []string
		for _, item := range v {
			all = append(all, texts(item)...)
		}
		return all
	case map[string]any:
		var all []string
		for _, name := range slices.Sorted(maps.Keys(v)) {
			all = append(all, texts(v[name])...)
		}
		return all
	}
	return nil
}

package rows

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// set reads an entry about what must come out.
func (w *want) set(word, value string) error {
	switch word {
	case "=", "=bytes":
		if !json.Valid(macro.ReplaceAll([]byte(value), []byte("0"))) {
			return fmt.Errorf("the outputs are no JSON: %s", value)
		}
		w.outputs, w.bytes = json.RawMessage(value), word == "=bytes"
	case "meta:":
		return merge(&w.meta, value)
	case "!":
		return w.setError(value)
	case "~":
		w.message = append(w.message, value)
	case "~not":
		w.not = append(w.not, value)
	case "~hint":
		w.hint = append(w.hint, value)
	case "log:":
		w.logs = append(w.logs, value)
	default:
		return fmt.Errorf("there is no word %q in a case", word)
	}
	return nil
}

// setError reads the kind of a failure and what else is said of it.
func (w *want) setError(value string) error {
	words := strings.Fields(value)
	if len(words) == 0 || slices.ContainsFunc(strings.Split(words[0], "|"), func(kind string) bool { return !slices.Contains(kinds, kind) }) {
		return fmt.Errorf("%q does not begin with the kind of an error", value)
	}
	w.hasError, w.kind = true, words[0]
	for _, word := range words[1:] {
		name, text, found := strings.Cut(word, "=")
		switch {
		case !found:
			status, err := strconv.Atoi(word)
			if err != nil {
				return fmt.Errorf("%q is no status", word)
			}
			w.status = &status
		case name == "applied" && slices.Contains([]string{"not_applied", "applied", "unknown"}, text):
			w.applied = text
		case name == "pointer":
			w.pointer = &text
		case name == "reason":
			w.reason = &text
		case name == "retry":
			w.retry = text
		default:
			return fmt.Errorf("%q is nothing to say of a failure", word)
		}
	}
	return nil
}

// logins are token responses that have a name: good for an hour, and one that has
// run out when the case begins.
var logins = map[string]string{
	"hour":  `{"access_token":"A1{{leak}}","token_type":"Bearer","expires_in":3600,"refresh_token":"R1{{leak}}","scope":"openid email","refresh_token_expires_in":86400}`,
	"ended": `{"access_token":"A1{{leak}}","token_type":"Bearer","expires_in":1,"refresh_token":"R1{{leak}}","scope":"openid email"}`,
}

// kinds are the kinds of errors (docs/language.md, rule 9).
var kinds = strings.Fields(`invalid unauthorized auth_required forbidden not_found conflict rate_limited quota_exhausted unavailable timeout denied
	expired cursor_expired unexpected_response unsupported crashed internal unknown_outcome canceled`)

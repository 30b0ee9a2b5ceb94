package trigger

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/schema"
)

// hookRoot is `request` in the expressions of a webhook. *HookRefusedError.
func hookRoot(webhook *plan.Webhook, r HookRequest, sender hookSender) (map[string]any, error) {
	body, err := hookBody(webhook, r)
	if err != nil {
		return nil, err
	}
	headers, query := map[string]any{}, map[string]any{}
	for name, values := range r.Header {
		lower := strings.ToLower(name)
		if !credential(webhook, lower) && len(values) > 0 {
			headers[lower] = strings.ToValidUTF8(strings.Join(values, ", "), "\uFFFD")
		}
	}
	for name, values := range r.Query {
		if len(values) > 0 {
			query[strings.ToValidUTF8(name, "\uFFFD")] = strings.ToValidUTF8(values[0], "\uFFFD")
		}
	}
	return map[string]any{"method": r.Method, "headers": headers, "query": query, "body": body}, nil
}

// credential reports whether a header shows who somebody is: such ones are kept
// from expressions, and so from journals.
func credential(webhook *plan.Webhook, name string) bool {
	switch name {
	case "authorization", "proxy-authorization", "cookie", strings.ToLower(hookTokenHeader):
		return true
	}
	return webhook.HMAC != nil && name == strings.ToLower(webhook.HMAC.Header)
}

// hookBody reads the body by its media type, and checks it against the webhook's
// schema. Names beyond the schema are kept, unless it refuses them in its text.
func hookBody(webhook *plan.Webhook, r HookRequest) (any, error) {
	document, err := bodyDocument(r.Header.Get("Content-Type"), r.Body)
	if err != nil {
		return nil, err
	}
	t, err := schema.FromJSONOr(webhook.Body, schema.Of(schema.Any))
	if err != nil {
		return nil, fmt.Errorf("read the schema of a webhook's body: %w", err)
	}
	value, err := t.Decode(document)
	if err == nil && len(webhook.Body) > 0 {
		err = refuseClosed(webhook.Body, value, "")
	}
	if err == nil {
		return value, nil
	}
	if mismatch, ok := errors.AsType[*schema.Mismatch](err); ok {
		return nil, refuseHook(http.StatusUnprocessableEntity, "body%s: %s", mismatch.Pointer, mismatch.Message)
	}
	return nil, refuseHook(http.StatusUnprocessableEntity, "body: %v", err)
}

// bodyDocument is the body as JSON: JSON itself, whatever the type says, since
// many senders leave it out; a form as an object of texts; plain text as one text.
func bodyDocument(contentType string, body []byte) (json.RawMessage, error) {
	if len(strings.TrimSpace(string(body))) == 0 {
		return json.RawMessage("null"), nil
	}
	media, _, err := mime.ParseMediaType(contentType)
	if err != nil && contentType != "" {
		media = strings.ToLower(strings.TrimSpace(contentType))
	}
	isJSON := media == "application/json" || strings.HasSuffix(media, "+json")
	switch {
	case json.Valid(body) && (isJSON || media == "" || media == "application/x-www-form-urlencoded"):
		return json.RawMessage(body), nil
	case isJSON, media == "":
		return nil, refuseHook(http.StatusBadRequest, "the body is not JSON")
	case media == "application/x-www-form-urlencoded":
		return formDocument(body)
	case strings.HasPrefix(media, "text/"):
		if !utf8.Valid(body) {
			return nil, refuseHook(http.StatusBadRequest, "the body is not UTF-8 text")
		}
		return json.Marshal(string(body))
	}
	return nil, refuseHook(http.StatusUnsupportedMediaType, "a body of type %q is not read: send application/json", media)
}

// formDocument makes an object of a form: the first value of each name. Names and
// values that are no UTF-8 text are refused.
func formDocument(body []byte) (json.RawMessage, error) {
	form, err := url.ParseQuery(string(body))
	if err != nil {
		return nil, refuseHook(http.StatusBadRequest, "the body is not a form: %v", err)
	}
	object := make(map[string]string, len(form))
	for name, values := range form {
		if !utf8.ValidString(name) || !utf8.ValidString(values[0]) {
			return nil, refuseHook(http.StatusBadRequest, "the body is not UTF-8 text")
		}
		object[name] = values[0]
	}
	return json.Marshal(object)
}

// closedSchema is what of a schema says which names are refused.
type closedSchema struct {
	Properties map[string]json.RawMessage `json:"properties"`
	Additional json.RawMessage            `json:"additionalProperties"`
	Items      json.RawMessage            `json:"items"`
}

// refuseClosed refuses names that a schema excludes by `additionalProperties:
// false`.
func refuseClosed(text json.RawMessage, value any, pointer string) error {
	var s closedSchema
	if json.Unmarshal(text, &s) != nil {
		return nil // a schema that is true or false
	}
	switch value := value.(type) {
	case []any:
		if len(s.Items) == 0 {
			return nil
		}
		for i, item := range value {
			if err := refuseClosed(s.Items, item, fmt.Sprintf("%s/%d", pointer, i)); err != nil {
				return err
			}
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(value)) {
			part, ok := s.Properties[name]
			switch {
			case !ok && string(s.Additional) == "false":
				return &schema.Mismatch{Pointer: pointer, Message: fmt.Sprintf("unknown field `%s`", name)}
			case !ok:
				part = s.Additional
			}
			if len(part) == 0 {
				continue
			}
			if err := refuseClosed(part, value[name], pointer+"/"+name); err != nil {
				return err
			}
		}
	}
	return nil
}

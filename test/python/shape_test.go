package python

import (
	"encoding/json"
	"regexp"

	pluginv1 "github.com/flowrun/flowrun/sdk/proto/pluginv1"
)

// told is what an end says, in a form that can be compared: JSON read, numbers of
// ports and times taken out.
type told struct {
	Output, Details, Meta any
	Cursor, Note, Mark    string
	Sensitive             []string
	Code                  string
	Message, Hint, Reason string
	Applied, Pointer      string
	Status                uint32
	Retry                 string
	Limiter               string
	Pending               string
}

var changing = regexp.MustCompile(`127\.0\.0\.1:[0-9]+|/tmp/[^ "]+`)

func stable(text string) string { return changing.ReplaceAllString(text, "…") }

func tree(raw []byte) any {
	var document any
	if len(raw) == 0 || json.Unmarshal([]byte(stable(string(raw))), &document) != nil {
		return stable(string(raw))
	}
	if object, ok := document.(map[string]any); ok {
		delete(object, "duration_ms") // of meta
	}
	return document
}

func shape(end *pluginv1.ExecuteEvent) told {
	if end == nil {
		return told{}
	}
	if p := end.GetPending(); p != nil {
		return told{Pending: stable(p.String()), Retry: p.GetRetryAfter().AsDuration().String()}
	}
	if c := end.GetCompleted(); c != nil {
		return told{
			Output: tree(c.GetOutput().GetJson()), Sensitive: c.GetOutput().GetSensitive(), Cursor: stable(c.GetNextCursor()),
			Meta: tree(c.GetMeta()), Note: string(c.GetPageNote()), Mark: string(c.GetWatermark()),
		}
	}
	f := end.GetFailed()
	return told{
		Code: f.GetCode().String(), Message: stable(f.GetMessage()), Hint: stable(f.GetHint()), Reason: f.GetReason(), Applied: f.GetApplied().String(),
		Pointer: f.GetPointer(), Status: f.GetHttpStatus(), Retry: f.GetRetryAfter().AsDuration().String(), Limiter: f.GetLimiter(), Details: tree(f.GetDetails()),
	}
}

package web

import (
	"bytes"
	"encoding/json"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/flowrun/flowrun/engine"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/internal/web/wire"
)

// A run with many steps has thousands of updates, nearly all of which tell of a record or
// of a step that runs or has ended. Those are written by hand, byte for byte as
// wire.EncodeJSON writes them, which writes the others.

// appendUpdate appends the JSON of an update.
func appendUpdate(b []byte, u *engine.Update) ([]byte, error) {
	begin := len(b)
	b = appendText(append(b, `{"kind":`...), string(u.Kind))
	b = appendText(append(b, `,"run_id":`...), u.RunID)
	if u.Seq != 0 {
		b = strconv.AppendUint(append(b, `,"seq":`...), u.Seq, 10)
	}
	usual := true
	switch {
	case u.Run != nil || u.Log != nil || u.Progress != nil || u.Path != "" || u.Wait != "" || !u.Until.IsZero():
		usual = false
	case u.Step != nil && len(u.Record) == 0:
		b, usual = appendStep(append(b, `,"step":`...), u.Step)
	case u.Step == nil && len(u.Record) > 0:
		b = append(append(b, `,"record":`...), u.Record...) // as the journal's encoder wrote it
	default:
		usual = false
	}
	if usual {
		return append(b, '}'), nil
	}
	text, err := wire.EncodeJSON(u)
	return append(b[:begin], bytes.TrimSuffix(text, []byte("\n"))...), err
}

// appendStep appends a step, or reports that it has something that only others write.
func appendStep(b []byte, s *runs.Step) ([]byte, bool) {
	if s.OutputsBytes != 0 || s.Error != nil || s.Wait != "" || s.Until != nil || s.WaitSince != nil || s.WaitedMS != 0 || s.Message != "" ||
		s.Prompt != nil || s.Pages != 0 || s.Cached || s.Form != nil || s.Decision != nil || s.Run != "" || s.Crashes != 0 || s.TakenFrom != "" {
		return b, false
	}
	b = appendText(append(b, `{"path":`...), s.Path)
	b = appendText(append(b, `,"status":`...), string(s.Status))
	b = strconv.AppendInt(append(b, `,"attempts":`...), int64(s.Attempts), 10)
	ok := true
	if len(s.Outputs) > 0 {
		out := bytes.NewBuffer(append(b, `,"outputs":`...))
		ok = json.Compact(out, s.Outputs) == nil
		b = out.Bytes()
	}
	if s.Uses != "" {
		b = appendText(append(b, `,"uses":`...), s.Uses)
	}
	b = appendCount(b, `,"items":`, s.Items)
	b = appendCount(b, `,"done":`, s.Done)
	b = appendCount(b, `,"item_errors":`, s.ItemErrors)
	b, begun := appendTime(b, `,"started_at":"`, s.StartedAt)
	b, ended := appendTime(b, `,"finished_at":"`, s.FinishedAt)
	return append(b, '}'), ok && begun && ended
}

func appendCount(b []byte, name string, n int) []byte {
	if n == 0 {
		return b
	}
	return strconv.AppendInt(append(b, name...), int64(n), 10)
}

func appendTime(b []byte, name string, at *time.Time) ([]byte, bool) {
	if at == nil {
		return b, true
	}
	if year := at.Year(); at.Location() != time.UTC || year < 0 || year > 9999 {
		return b, false
	}
	return append(at.AppendFormat(append(b, name...), time.RFC3339Nano), '"'), true
}

// appendText appends a text as EncodeJSON writes it.
func appendText(b []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c >= utf8.RuneSelf || c == '"' || c == '\\' {
			text, _ := wire.EncodeJSON(s) // a text can always be written
			return append(b, bytes.TrimSuffix(text, []byte("\n"))...)
		}
	}
	return append(append(append(b, '"'), s...), '"')
}

package web

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/flowrun/flowrun/engine"
)

// stream sends a run's feed as server-sent events. The id of an event is the
// journal's sequence number; Last-Event-ID goes on after it.
func (s *server) stream(w http.ResponseWriter, r *http.Request) *Problem {
	id, problem := streamTopic(r.URL.Query().Get("topics"))
	if problem != nil {
		return problem
	}
	from, problem := lastEventID(r.Header.Get("Last-Event-ID"))
	if problem != nil {
		return problem
	}
	select {
	case s.streams <- struct{}{}:
		defer func() { <-s.streams }()
	default:
		return newProblem(CodeTooMany, fmt.Sprintf("%d streams are open already", streamCap))
	}
	updates, err := s.Runs.Watch(r.Context(), id, from)
	if err != nil {
		return runProblem(id, err)
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.WriteHeader(http.StatusOK)
	s.copyUpdates(w, r, updates)
	return nil
}

func (s *server) copyUpdates(w http.ResponseWriter, r *http.Request, updates <-chan engine.Update) {
	flusher := http.NewResponseController(w)
	_ = flusher.Flush() // the header alone: the client knows now that it is subscribed
	var heartbeat <-chan time.Time
	if s.Heartbeat > 0 {
		ticker := time.NewTicker(s.Heartbeat)
		defer ticker.Stop()
		heartbeat = ticker.C
	}
	for {
		var frame []byte
		select {
		case update, open := <-updates:
			if !open {
				return
			}
			frame = encodeEvent(update)
		case <-heartbeat:
			frame = []byte(": alive\n\n")
		case <-s.Gate.Done():
			return
		case <-r.Context().Done():
			return
		}
		if _, err := w.Write(frame); err != nil {
			return
		}
		if len(updates) == 0 {
			_ = flusher.Flush()
		}
	}
}

func encodeEvent(update engine.Update) []byte {
	var out bytes.Buffer
	if update.Seq > 0 {
		fmt.Fprintf(&out, "id: %d\n", update.Seq)
	}
	fmt.Fprintf(&out, "event: %s\ndata: ", update.Kind)
	encoder := json.NewEncoder(&out) // ends with a line feed and holds no other
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(update); err != nil {
		return fmt.Appendf(nil, ": %q\n\n", err.Error())
	}
	out.WriteByte('\n')
	return out.Bytes()
}

func streamTopic(topics string) (string, *Problem) {
	id, found := strings.CutPrefix(topics, "run:")
	if !found {
		return "", newProblem(CodeBadRequest, "topics must be run:ID")
	}
	if !ValidID(id) {
		return "", noRun(id)
	}
	return id, nil
}

func lastEventID(text string) (uint64, *Problem) {
	if text == "" {
		return 0, nil
	}
	seq, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0, newProblem(CodeBadRequest, fmt.Sprintf("Last-Event-ID %q is not a sequence number", text))
	}
	return seq, nil
}

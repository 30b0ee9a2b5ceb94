package page

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/flowrun/flowrun/engine"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/internal/web/wire"
)

// logsData is the log of a run.
type logsData struct {
	runHead
	Lines  []runs.Log
	Levels []choice
	Steps  []string // that have written lines
	Any    bool     // there are lines, whether they fit or not
	Asked  logsAsked
	Older  string // the path of the lines before; "" = there are none
	Newest string // the path of the newest lines, where others are shown
	Save   string // the path of the whole log as a file
}

// logsAsked is what the address of a log's page asks for.
type logsAsked struct {
	engine.LogFilter
	Before uint64 // the number of the line after the last; 0 = the newest
}

const (
	shownLines = 500 // that a page of a log shows
	logSteps   = 200 // to choose from
	savedLines = 1000
)

var logLevels = []choice{{"", "all levels"}, {"info", "info and above"}, {"warn", "warn and above"}, {"error", "error"}}

// readLogsAsked reads the address. What it can't mean is as if it was not there.
func readLogsAsked(query url.Values) logsAsked {
	asked := logsAsked{LogFilter: engine.LogFilter{Step: query.Get("step"), Level: query.Get("level"), Text: strings.TrimSpace(query.Get("q"))}}
	if !slices.Contains(engine.LogLevels(), asked.Level) {
		asked.Level = ""
	}
	asked.Before, _ = strconv.ParseUint(query.Get("before"), 10, 64)
	return asked
}

// path is the address of what is asked for, below a run's own.
func (a logsAsked) path(run, rest string) string {
	query := wire.Query("step", a.Step, "level", a.Level, "q", a.Text)
	if a.Before > 0 {
		query.Set("before", strconv.FormatUint(a.Before, 10))
	}
	return wire.WithQuery(runURL(run)+rest, query)
}

func (s *site) runLogs(r *http.Request, runView *engine.RunView) (*screen, error) {
	run, asked := runView.Result.Run.ID, readLogsAsked(r.URL.Query())
	data := logsData{runHead: s.head(runView, "/logs"), Levels: logLevels, Asked: asked}
	lines, err := s.Engine.LogPage(r.Context(), run, engine.LogQuery{LogFilter: asked.LogFilter, Back: true, From: asked.Before, Limit: shownLines})
	if err != nil {
		return nil, err
	}
	if data.Steps, err = s.Engine.LogSteps(r.Context(), run, logSteps); err != nil {
		return nil, err
	}
	data.Any = len(data.Steps) > 0
	data.Steps = slices.DeleteFunc(data.Steps, func(step string) bool { return step == "" })
	if asked.Step != "" && !slices.Contains(data.Steps, asked.Step) {
		data.Steps = append(data.Steps, asked.Step)
	}
	data.Lines = lines.Lines
	if lines.Next > 0 {
		data.Older = logsAsked{asked.LogFilter, lines.Next}.path(run, "/logs")
	}
	if asked.Before > 0 {
		data.Newest = logsAsked{LogFilter: asked.LogFilter}.path(run, "/logs")
	}
	data.Save = logsAsked{LogFilter: asked.LogFilter}.path(run, "/log.txt")
	made := s.runScreen(runView, "run-logs", data)
	if asked.Before > 0 {
		made.Live = live{} // what is that old does not change
	}
	return made, nil
}

// saveLogs sends all lines that fit as a file, page by page: a log may be longer
// than what a server wants to hold.
func (s *site) saveLogs(w http.ResponseWriter, r *http.Request) {
	id, err := runID(r)
	if err != nil {
		s.write(w, r, s.problem(r, err))
		return
	}
	control, asked := http.NewResponseController(w), readLogsAsked(r.URL.Query())
	out := bufio.NewWriter(w)
	for from, begun := uint64(0), false; ; {
		page, err := s.Engine.LogPage(r.Context(), id, engine.LogQuery{LogFilter: asked.LogFilter, From: from, Limit: savedLines})
		if err != nil {
			if !begun {
				s.write(w, r, s.problem(r, err))
				return
			}
			s.Log.Error("a log could not be sent whole", "run", id, "error", err)
			panic(http.ErrAbortHandler) // so that the reader sees that it is cut
		}
		if !begun {
			begun = true
			w.Header().Set("Content-Type", "text/plain; charset=utf-8")
			w.Header().Set("Content-Disposition", fmt.Sprintf("attachment; filename=%q", "run-"+id+".log"))
		}
		_ = control.SetWriteDeadline(s.Now().Add(streamLate)) // where it is not supported, it is not needed
		for i := range page.Lines {
			writeLine(out, &page.Lines[i])
		}
		if err := out.Flush(); err != nil {
			return // the reader is gone
		}
		if from = page.Next; from == 0 {
			return
		}
	}
}

// writeLine writes a line as one line of a file: time, level, step, message and
// fields.
func writeLine(out io.Writer, line *runs.Log) {
	text := fmt.Sprintf("%s %s %s %s", line.At.UTC().Format("2006-01-02T15:04:05.000Z"), line.Level, quoteLine(cmp.Or(line.Step, "-")), quoteLine(line.Message))
	if len(line.Fields) > 0 {
		text += " " + string(line.Fields)
	}
	_, _ = io.WriteString(out, text+"\n") // bufio keeps the error for its Flush
}

// quoteLine keeps a text on one line, and control codes out of terminals.
func quoteLine(text string) string {
	plain := func(c rune) bool { return c >= ' ' && c != 0x7f && (c < 0x80 || c >= 0xa0) }
	if strings.IndexFunc(text, func(c rune) bool { return !plain(c) }) < 0 {
		return text
	}
	quoted, err := json.Marshal(text)
	if err != nil {
		return strconv.Quote(text)
	}
	return string(quoted)
}

// logsCommand is the command that prints the same lines.
func (s *site) logsCommand(run string, asked engine.LogFilter) string {
	args := []any{"runs", "logs", run, asked.Step}
	if asked.Level != "" {
		args = append(args, "--level", asked.Level)
	}
	if asked.Text != "" {
		args = append(args, "--grep", asked.Text)
	}
	return s.command(args...)
}

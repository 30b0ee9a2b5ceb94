package web

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/flowrun/flowrun/engine"
	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/plan"
)

// Limits of the pages of lists.
const (
	defaultPage = 50
	maxPage     = 1000
)

func (s *server) health(w http.ResponseWriter, _ *http.Request) *Problem {
	writeJSON(w, http.StatusOK, map[string]string{"status": "ok"})
	return nil
}

func (s *server) owner(w http.ResponseWriter, _ *http.Request) *Problem {
	writeJSON(w, http.StatusOK, s.Owner)
	return nil
}

func (s *server) workflows(w http.ResponseWriter, _ *http.Request) *Problem {
	files, err := s.Catalog.Workflows()
	if err != nil {
		return problemOf(err)
	}
	page := Page[WorkflowItem]{Items: []WorkflowItem{}}
	for _, file := range files {
		page.Items = append(page.Items, WorkflowItem{File: file})
	}
	writeJSON(w, http.StatusOK, page)
	return nil
}

func (s *server) validate(w http.ResponseWriter, r *http.Request) *Problem {
	var request ValidateRequest
	if problem := decodeBody(w, r, 2*bodyCap, false, &request); problem != nil {
		return problem
	}
	_, list := s.Catalog.Check(r.Context(), request.File, []byte(request.Source))
	if list == nil {
		list = diag.List{}
	}
	writeJSON(w, http.StatusOK, ValidateAnswer{Problems: list, Files: 1})
	return nil
}

func (s *server) runs(w http.ResponseWriter, r *http.Request) *Problem {
	filter, problem := parseFilter(r)
	if problem != nil {
		return problem
	}
	runs, next, err := s.Runs.List(r.Context(), filter)
	if err != nil {
		return problemOf(err)
	}
	writeJSON(w, http.StatusOK, newPage(runs, next))
	return nil
}

func parseFilter(r *http.Request) (engine.RunFilter, *Problem) {
	query := r.URL.Query()
	filter := engine.RunFilter{Labels: map[string]string{}}
	for name, values := range query {
		if len(values) > 1 && name != "label" {
			return filter, newProblem(CodeBadRequest, fmt.Sprintf("%q is given twice", name))
		}
		var problem *Problem
		switch name {
		case "workflow":
			filter.Workflow = values[0]
		case "status":
			filter.Status, problem = parseStatus(values[0])
		case "cursor":
			if filter.Cursor = values[0]; !ValidCursor(values[0]) {
				problem = newProblem(CodeBadRequest, fmt.Sprintf("cursor %q is not the next_cursor of a list", values[0]))
			}
		case "limit":
			filter.Limit, problem = parseLimit(values[0])
		case "since":
			filter.Since, problem = parseTime(name, values[0])
		case "label":
			problem = parseLabels(values, filter.Labels)
		default:
			problem = newProblem(CodeBadRequest, fmt.Sprintf("there is no parameter %q", name))
		}
		if problem != nil {
			return filter, problem
		}
	}
	return filter, nil
}

func parseStatus(text string) (plan.RunStatus, *Problem) {
	switch status := plan.RunStatus(text); status {
	case plan.RunQueued, plan.RunRunning, plan.RunWaiting, plan.RunPaused,
		plan.RunSucceeded, plan.RunFailed, plan.RunCanceled, plan.RunTimedOut:
		return status, nil
	}
	return "", newProblem(CodeBadRequest, fmt.Sprintf("there is no status %q", text))
}

func parseLabels(values []string, into map[string]string) *Problem {
	for _, value := range values {
		name, text, found := strings.Cut(value, "=")
		if !found || name == "" {
			return newProblem(CodeBadRequest, fmt.Sprintf("label %q is not name=value", value))
		}
		into[name] = text
	}
	return nil
}

func parseLimit(text string) (int, *Problem) {
	limit, err := strconv.Atoi(text)
	if err != nil || limit < 1 || limit > maxPage {
		return 0, newProblem(CodeBadRequest, fmt.Sprintf("limit %q is not a number from 1 to %d", text, maxPage))
	}
	return limit, nil
}

func parseTime(name, text string) (time.Time, *Problem) {
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return time.Time{}, newProblem(CodeBadRequest, fmt.Sprintf("%s %q is not an RFC 3339 time", name, text))
	}
	return at, nil
}

// runID returns the id in the path. One that can't be a run's is not found: it
// never reaches the store.
func runID(r *http.Request) (string, *Problem) {
	id := r.PathValue("id")
	if !ValidID(id) {
		return "", noRun(id)
	}
	return id, nil
}

func (s *server) run(w http.ResponseWriter, r *http.Request) *Problem {
	id, problem := runID(r)
	if problem != nil {
		return problem
	}
	result, err := s.Runs.Get(r.Context(), id)
	if err != nil {
		return runProblem(id, err)
	}
	writeJSON(w, http.StatusOK, result)
	return nil
}

func (s *server) steps(w http.ResponseWriter, r *http.Request) *Problem {
	id, problem := runID(r)
	if problem != nil {
		return problem
	}
	steps, err := s.Runs.Steps(r.Context(), id)
	if err != nil {
		return runProblem(id, err)
	}
	writeJSON(w, http.StatusOK, newPage(steps, ""))
	return nil
}

func (s *server) logs(w http.ResponseWriter, r *http.Request) *Problem {
	id, problem := runID(r)
	if problem != nil {
		return problem
	}
	logs, err := s.Runs.Logs(r.Context(), id, r.URL.Query().Get("step"))
	if err != nil {
		return runProblem(id, err)
	}
	writeJSON(w, http.StatusOK, newPage(logs, ""))
	return nil
}

func (s *server) events(w http.ResponseWriter, r *http.Request) *Problem {
	id, problem := runID(r)
	if problem != nil {
		return problem
	}
	from, limit := uint64(1), defaultPage
	if text := r.URL.Query().Get("cursor"); text != "" {
		seq, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			return newProblem(CodeBadRequest, fmt.Sprintf("cursor %q is not a sequence number", text))
		}
		from = seq
	}
	if text := r.URL.Query().Get("limit"); text != "" {
		if limit, problem = parseLimit(text); problem != nil {
			return problem
		}
	}
	records, err := s.Runs.Events(r.Context(), id, from, limit)
	if err != nil {
		return runProblem(id, err)
	}
	next := ""
	if len(records) == limit {
		next = strconv.FormatUint(nextSeq(records, from), 10)
	}
	writeJSON(w, http.StatusOK, newPage(records, next))
	return nil
}

// nextSeq returns the sequence number after the last record's own.
func nextSeq(records []json.RawMessage, from uint64) uint64 {
	var last struct{ Seq uint64 }
	if err := json.Unmarshal(records[len(records)-1], &last); err == nil && last.Seq > 0 {
		return last.Seq + 1
	}
	return from + uint64(len(records))
}

func newPage[T any](items []T, next string) Page[T] {
	page := Page[T]{Items: items}
	if items == nil {
		page.Items = []T{}
	}
	if next != "" {
		page.NextCursor = &next
	}
	return page
}

func (s *server) plugins(w http.ResponseWriter, r *http.Request) *Problem {
	writeJSON(w, http.StatusOK, newPage(s.Catalog.Plugins(r.Context()), ""))
	return nil
}

func (s *server) actions(w http.ResponseWriter, r *http.Request) *Problem {
	name := r.PathValue("name")
	if !ValidID(name) {
		return newProblem(CodeNotFound, "there is no such plugin")
	}
	actions, err := s.Catalog.Actions(r.Context(), name)
	if err != nil {
		return problemOf(err)
	}
	items := make([]ActionItem, 0, len(actions))
	for _, action := range actions {
		items = append(items, NewActionItem(action))
	}
	writeJSON(w, http.StatusOK, newPage(items, ""))
	return nil
}

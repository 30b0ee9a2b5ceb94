package web

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"github.com/flowrun/flowrun/engine/services"
	"github.com/flowrun/flowrun/engine/upkeep"
)

// Upkeep is what the API needs of an engine to look after its store.
type Upkeep interface {
	Backup(ctx context.Context, r upkeep.BackupRequest) (*upkeep.BackupReport, error)
	DBStats(ctx context.Context) (*upkeep.DBStats, error)
	DBOwners(ctx context.Context, by string) ([]upkeep.DBOwner, error)
	CheckKey(ctx context.Context) (*services.KeyReport, error)
	RotateKey(ctx context.Context) (*services.KeyRotation, error)
	ExportRun(ctx context.Context, id string, emit func(upkeep.ExportLine) error) error
	RemoveRun(ctx context.Context, id string, r upkeep.RemoveRequest) (*upkeep.Removal, error)
}

func (s *server) dbStats(w http.ResponseWriter, r *http.Request) *Problem {
	stats, err := s.Upkeep.DBStats(r.Context())
	return replyWith(w, stats, err)
}

func (s *server) dbOwners(w http.ResponseWriter, r *http.Request) *Problem {
	owners, err := s.Upkeep.DBOwners(r.Context(), r.PathValue("by"))
	return replyWith(w, newPage(owners, ""), err)
}

// dbBackup takes a path: only the socket has this route, whose callers are the
// owner's own user.
func (s *server) dbBackup(w http.ResponseWriter, r *http.Request) *Problem {
	var request upkeep.BackupRequest
	if problem := decodeBody(w, r, bodyCap, true, &request); problem != nil {
		return problem
	}
	report, err := s.Upkeep.Backup(r.Context(), request)
	if err != nil {
		return problemOf(err)
	}
	writeJSON(w, http.StatusCreated, report)
	return nil
}

func (s *server) checkKey(w http.ResponseWriter, r *http.Request) *Problem {
	report, err := s.Upkeep.CheckKey(r.Context())
	return replyWith(w, report, err)
}

func (s *server) rotateKey(w http.ResponseWriter, r *http.Request) *Problem {
	if problem := decodeBody(w, r, bodyCap, true, new(struct{})); problem != nil {
		return problem
	}
	rotation, err := s.Upkeep.RotateKey(r.Context())
	return replyWith(w, rotation, err)
}

func (s *server) removeRun(w http.ResponseWriter, r *http.Request) *Problem {
	id, problem := runID(r)
	if problem != nil {
		return problem
	}
	var request upkeep.RemoveRequest
	if problem := decodeBody(w, r, bodyCap, true, &request); problem != nil {
		return problem
	}
	request.By = by(r.Context(), request.By)
	removal, err := s.Upkeep.RemoveRun(r.Context(), id, request)
	if err != nil {
		return runProblem(id, err)
	}
	writeJSON(w, http.StatusOK, removal)
	return nil
}

// exportProblem is the type of the line that ends an export which failed after
// its first line.
const exportProblem = "problem"

// exportRun streams an export, one line each. What is wrong before the first
// line is a problem as everywhere.
func (s *server) exportRun(w http.ResponseWriter, r *http.Request) *Problem {
	id, problem := runID(r)
	if problem != nil {
		return problem
	}
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	begun := false
	err := s.Upkeep.ExportRun(r.Context(), id, func(line upkeep.ExportLine) error {
		if !begun {
			begun = true
			w.Header().Set("Content-Type", "application/x-ndjson")
		}
		return encoder.Encode(line)
	})
	switch {
	case err == nil:
		return nil
	case !begun:
		return runProblem(id, err)
	}
	detail, _ := json.Marshal(runProblem(id, err)) // plain data
	_ = encoder.Encode(upkeep.ExportLine{Type: exportProblem, Data: detail})
	return nil
}

// DBOwners asks who takes the room in the store.
func (c *Client) DBOwners(ctx context.Context, by string) ([]upkeep.DBOwner, error) {
	var page Page[upkeep.DBOwner]
	err := c.get(ctx, "/local/db/owners/"+url.PathEscape(by), &page)
	return page.Items, err
}

// DBStats asks what the store holds.
func (c *Client) DBStats(ctx context.Context) (*upkeep.DBStats, error) {
	stats := new(upkeep.DBStats)
	return stats, c.get(ctx, "/local/db/stats", stats)
}

// Backup lets the owner write a backup.
func (c *Client) Backup(ctx context.Context, r upkeep.BackupRequest) (*upkeep.BackupReport, error) {
	report := new(upkeep.BackupReport)
	return report, c.post(ctx, "/local/db/backup", r, report)
}

// CheckKey asks whether the key file opens every sealed value.
func (c *Client) CheckKey(ctx context.Context) (*services.KeyReport, error) {
	report := new(services.KeyReport)
	return report, c.get(ctx, "/local/key", report)
}

// RotateKey lets the owner exchange the sealing key.
func (c *Client) RotateKey(ctx context.Context) (*services.KeyRotation, error) {
	rotation := new(services.KeyRotation)
	return rotation, c.post(ctx, "/local/key/rotate", struct{}{}, rotation)
}

// RemoveRun removes a run that has ended.
func (c *Client) RemoveRun(ctx context.Context, id string, r upkeep.RemoveRequest) (*upkeep.Removal, error) {
	removal := new(upkeep.Removal)
	return removal, c.post(ctx, "/local"+runPath(id, "/remove"), r, removal)
}

// ExportRun gives visit the lines of an export. An export that is cut off is a
// *GoneError.
func (c *Client) ExportRun(ctx context.Context, id string, visit func(upkeep.ExportLine) error) error {
	response, err := c.send(ctx, http.MethodGet, "/local"+runPath(id, "/export"), nil, nil)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	for lines := json.NewDecoder(response.Body); ; {
		var line upkeep.ExportLine
		if err := lines.Decode(&line); err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return &GoneError{Err: fmt.Errorf("read the export: %w", err)}
		}
		if line.Type == exportProblem {
			problem := new(Problem)
			if err := json.Unmarshal(line.Data, problem); err != nil {
				return fmt.Errorf("read the problem of the export: %w", err)
			}
			return problem
		}
		if err := visit(line); err != nil {
			return err
		}
		if line.Type == upkeep.ExportEnd {
			return nil
		}
	}
}

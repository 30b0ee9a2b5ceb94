package web

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"github.com/flowrun/flowrun/engine"
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

func (s *server) dbOwners(r *http.Request) ([]upkeep.DBOwner, error) {
	return s.Upkeep.DBOwners(r.Context(), r.PathValue("by"))
}

func (s *server) rotateKey(ctx context.Context, _ struct{}) (*services.KeyRotation, error) {
	return s.Upkeep.RotateKey(ctx)
}

func (s *server) removeRun(w http.ResponseWriter, r *http.Request) error {
	id, err := runID(r)
	if err != nil {
		return err
	}
	var request upkeep.RemoveRequest
	if err := decodeBody(w, r, bodyCap, true, &request); err != nil {
		return err
	}
	request.By = by(r.Context(), request.By)
	removal, err := s.Upkeep.RemoveRun(r.Context(), id, request)
	return reply(w, http.StatusOK, removal, ofRun(id, err))
}

// exportProblem is the type of the line that ends an export which failed after
// its first line.
const exportProblem = "problem"

// exportRun streams an export, one line each. What is wrong before the first
// line is a problem as everywhere.
func (s *server) exportRun(w http.ResponseWriter, r *http.Request) error {
	id, err := runID(r)
	if err != nil {
		return err
	}
	longAnswer(w)
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	begun := false
	err = s.Upkeep.ExportRun(r.Context(), id, func(line upkeep.ExportLine) error {
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
		return ofRun(id, err)
	}
	detail, _ := json.Marshal(ofRun(id, err)) // plain data
	_ = encoder.Encode(upkeep.ExportLine{Type: exportProblem, Data: detail})
	return nil
}

func (s *server) runOutput(r *http.Request) (*engine.RunOutput, error) {
	id, err := runID(r)
	if err != nil {
		return nil, err
	}
	output, err := s.Runs.Output(r.Context(), id, r.PathValue("name"))
	return output, ofRun(id, err)
}

// Output asks for one output of a run.
func (c *Client) Output(ctx context.Context, id, name string) (*engine.RunOutput, error) {
	return fetch[engine.RunOutput](ctx, c, "/local"+runPath(id, "/outputs/"+url.PathEscape(name)))
}

// DBOwners asks who takes the room in the store.
func (c *Client) DBOwners(ctx context.Context, by string) ([]upkeep.DBOwner, error) {
	return fetchAll[upkeep.DBOwner](ctx, c, "/local/db/owners/"+url.PathEscape(by))
}

// DBStats asks what the store holds.
func (c *Client) DBStats(ctx context.Context) (*upkeep.DBStats, error) {
	return fetch[upkeep.DBStats](ctx, c, "/local/db/stats")
}

// Backup lets the owner write a backup.
func (c *Client) Backup(ctx context.Context, r upkeep.BackupRequest) (*upkeep.BackupReport, error) {
	return post[upkeep.BackupReport](ctx, c, "/local/db/backup", r)
}

// CheckKey asks whether the key file opens every sealed value.
func (c *Client) CheckKey(ctx context.Context) (*services.KeyReport, error) {
	return fetch[services.KeyReport](ctx, c, "/local/key")
}

// RotateKey lets the owner exchange the sealing key.
func (c *Client) RotateKey(ctx context.Context) (*services.KeyRotation, error) {
	return post[services.KeyRotation](ctx, c, "/local/key/rotate", struct{}{})
}

// RemoveRun removes a run that has ended.
func (c *Client) RemoveRun(ctx context.Context, id string, r upkeep.RemoveRequest) (*upkeep.Removal, error) {
	return post[upkeep.Removal](ctx, c, "/local"+runPath(id, "/remove"), r)
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

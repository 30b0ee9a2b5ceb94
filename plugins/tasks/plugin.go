// Package tasks is the plugin of the task-management service: invitations and
// projects of workspaces, shared labels, completed tasks, statistics, the
// migration of a personal token, and usage billing.
//
// Row ids (T-01 ...) are those of the requirements, see docs/services/coverage.md.
// What the service's document leaves open and is decided here is listed in
// docs/services/tasks.md.
package tasks

import (
	"time"

	"github.com/flowrun/flowrun/sdk"
)

// Version is the version of the plugin.
const Version = "1.0.0"

// Options are what the plugin takes from outside.
type Options struct {
	Now func() time.Time // clock for the lifetime of a migrated token
}

// service is what the actions share. Safe for concurrent use.
type service struct {
	now     func() time.Time
	origins *origins
}

// New returns the plugin with the real clock.
func New() *sdk.Plugin { return NewWith(Options{Now: time.Now}) }

// NewWith returns the plugin with what a test passes in. No limiter is declared:
// the document shows no rate limits, and the connection's `rate` is off by
// default (T-69). There is no trigger either: events are not documented (T-67).
func NewWith(o Options) *sdk.Plugin {
	s := &service{now: o.Now, origins: newOrigins()}
	parts := []sdk.Part{
		sdk.PathPrefix("/api/v1"), // T-01
		sdk.ValidateConfig(checkConfig),
		sdk.CheckConnection(checkConnection),
	}
	parts = append(parts, invitationActions()...)
	parts = append(parts, s.projectActions()...)
	parts = append(parts, labelActions()...)
	parts = append(parts, s.completedActions()...)
	parts = append(parts, s.billingActions()...)
	return sdk.New("tasks", Version, "Workspaces, shared labels, completed tasks, statistics and usage billing of the task-management service.", parts...)
}

// options adds to an action's options what all of them have.
func options(own ...sdk.ActionOption) []sdk.ActionOption {
	return append(own,
		sdk.Timeout(30*time.Second),
		sdk.Fault(sdk.CodeInvalid, "", "An input is wrong or the connection has no credential, found before anything is sent; or the service says 400."),
		sdk.Fault(sdk.CodeUnauthorized, "", "The service refuses the credential (401)."),
		sdk.Fault(sdk.CodeForbidden, "", "The credential may not do this (403)."),
		sdk.Fault(sdk.CodeNotFound, "", "There is no such thing (404)."),
		sdk.Fault(sdk.CodeRateLimited, "", "Too many requests (429), which the document does not mention; Retry-After is honoured."),
		sdk.Fault(sdk.CodeUnavailable, "", "No connection, or the service failed (5xx)."),
		sdk.Fault(sdk.CodeUnexpectedResponse, "", "The answer is no JSON, cut short or of another shape."),
	)
}

// pageOptions adds what the paginated actions have.
func pageOptions(own ...sdk.ActionOption) []sdk.ActionOption {
	return options(append(own,
		sdk.Paged("cursor", "items", "next_cursor"), // items are told apart as a whole: no field is documented
		sdk.Fault(sdk.CodeCursorExpired, "", "The service does not take the cursor of a later page (400); the reading starts again, once."))...)
}

// example is an input of an example.
type example = map[string]any

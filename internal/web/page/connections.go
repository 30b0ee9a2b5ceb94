package page

import (
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/flowrun/flowrun/engine/connections"
	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/fault"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/workspace"
)

// connectionRow is one connection with what goes on with it.
type connectionRow struct {
	workspace.ConnectionStatus
	URL       string
	SourceURL string // of the connection that its token comes from
	PluginURL string
	Settings  string // its config as JSON
	Soon      bool   // its login ends within expiresSoon
	Flow      *loginFlow
	Test      *connections.Test
	Logout    *connections.LogoutResult
	Failed    *runs.Error // of the last test or logout

	now time.Time
}

// Left is how long a code can still be used, in minutes and seconds; app.js
// counts on.
func (c *connectionRow) Left(until time.Time) string {
	left := until.Sub(c.now)
	if left < time.Second {
		return "ended"
	}
	return fmt.Sprintf("%d:%02d", left/time.Minute, left%time.Minute/time.Second)
}

// expiresSoon is how long before its end a login is worth a word, where it can't
// be renewed.
const expiresSoon = 24 * time.Hour

func (s *site) connections(r *http.Request) (*screen, error) {
	all := s.Engine.ListConnections(r.Context())
	rows := make([]connectionRow, len(all))
	for i, one := range all {
		rows[i] = s.connectionRow(one)
	}
	data := pageOf(r, rows, func(row *connectionRow, word string) bool { return contains(word, row.Name, row.Plugin, row.URL) })
	return &screen{Title: "Connections", Nav: "/connections", Template: "connections", Data: data, Live: live{Every: s.loginEvery(rows)}}, nil
}

// loginEvery is how often a page with these connections is looked at again.
func (s *site) loginEvery(rows []connectionRow) time.Duration {
	if slices.ContainsFunc(rows, func(row connectionRow) bool { return row.Flow != nil && row.Flow.Running() }) {
		return flowEvery
	}
	return liveEvery
}

// flowEvery is how often a running login is looked at.
const flowEvery = 2 * time.Second

func (s *site) connectionRow(one workspace.ConnectionStatus) connectionRow {
	row := connectionRow{
		ConnectionStatus: one, URL: connectionURL(one.Name), PluginURL: "/plugins/" + one.Plugin, Settings: workspace.ReadableJSON(one.Config), Flow: s.logins.view(one.Name),
		now: s.Now(),
	}
	if one.TokenFrom != "" {
		row.SourceURL = connectionURL(one.TokenFrom)
	}
	if one.Login != nil {
		end := one.Login.ExpiresAt
		if one.Login.RefreshExpiresAt != nil {
			end = one.Login.RefreshExpiresAt
		}
		row.Soon = end != nil && one.Login.State == "valid" && end.Before(s.Now().Add(expiresSoon)) && one.Login.RefreshExpiresAt != nil
	}
	return row
}

func (s *site) connection(_ *http.Request, row *connectionRow) (*screen, error) {
	return s.connectionScreen(row), nil
}

func (s *site) connectionScreen(row *connectionRow) *screen {
	return &screen{
		Title: "Connection " + row.Name, Nav: "/connections", Template: "connection", Data: row, Live: live{Every: s.loginEvery([]connectionRow{*row})},
	}
}

func (s *site) findConnection(r *http.Request) (*connectionRow, error) {
	name := r.PathValue("name")
	for _, one := range s.Engine.ListConnections(r.Context()) {
		if one.Name == name {
			row := s.connectionRow(one)
			return &row, nil
		}
	}
	return nil, notFound("connection", name)
}

// ofConnection is what serves the connection of the path.
func ofConnection[T any](s *site, serve func(*http.Request, *connectionRow) (T, error)) func(*http.Request) (T, error) {
	return func(r *http.Request) (answer T, err error) {
		row, err := s.findConnection(r)
		if err != nil {
			return answer, err
		}
		return serve(r, row)
	}
}

// testConnection tries a connection and shows what came of it.
func (s *site) testConnection(r *http.Request, row *connectionRow) (*outcome, error) {
	tested, err := s.Engine.TestConnection(r.Context(), row.Name)
	if err != nil {
		return nil, err
	}
	row.Test, row.Failed = &tested, tested.Error
	return done(s.connectionScreen(row)), nil
}

func (s *site) logoutConnection(r *http.Request, row *connectionRow) (*outcome, error) {
	result, err := s.Engine.Logout(r.Context(), row.Name)
	if err != nil {
		return nil, err
	}
	if row, err = s.findConnection(r); err != nil { // as it is now
		return nil, err
	}
	row.Logout, row.Failed = &result, result.Error
	return done(s.connectionScreen(row)), nil
}

// beginLogin starts a device login, or joins the one that is under way.
func (s *site) beginLogin(_ *http.Request, row *connectionRow) (*outcome, error) {
	if s.Go == nil {
		return nil, &fault.ConflictError{Message: "this server does not log in from the page", Hint: diag.Sayf("use %s", diag.Command{"connections", "login", row.Name})}
	}
	s.logins.begin(row.Name)
	return &outcome{to: row.URL}, nil
}

// endLogin stops waiting for the person.
func (s *site) endLogin(r *http.Request) (*outcome, error) {
	s.logins.end(r.PathValue("name"))
	return &outcome{to: connectionURL(r.PathValue("name"))}, nil
}

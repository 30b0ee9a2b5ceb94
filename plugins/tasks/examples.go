package tasks

// What the examples give. Records whose fields are not documented are empty
// here: nothing is invented for them.
const (
	responseOutput    = `{"response":{}}`
	invitationsOutput = `{"invitations":[]}`
	invitationOutput  = `{"invitation":{}}`
	pageOutput        = `{"items":[],"next_cursor":null,"page":{"results":[],"next_cursor":null}}`
	tasksOutput       = `{"items":[{"id":"6XGgm6PHrGgMpCFX"}],"next_cursor":"aGVsbG8.d29ybGQ","page":{"results":[{"id":"6XGgm6PHrGgMpCFX"}],"next_cursor":"aGVsbG8.d29ybGQ"}}`
	statsOutput       = `{"stats":{}}`
	migratedOutput    = `{"stored":true,"response":{}}`
	summaryOutput     = `{"summary":{}}`
	historyOutput     = `{"items":[{"created_at":"2026-01-31T12:00:00Z"}],"next_cursor":null,"page":{"results":[{"created_at":"2026-01-31T12:00:00Z"}],"next_cursor":null}}`
)

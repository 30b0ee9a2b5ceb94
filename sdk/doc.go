// Package sdk is what the author of a flowrun plugin imports: typed actions,
// errors by meaning, an HTTP client that classifies answers, paging, pending
// answers, state, tokens, and Serve.
//
// A plugin is a process that wraps one service. Its actions are plain
// functions; their schemas are read from struct tags:
//
//	type In struct {
//		Domain string `json:"domain" doc:"Name to look up" example:"example.com"`
//		Type   string `json:"type" enum:"A,AAAA,MX" default:"A"`
//	}
//
// Tags: json, doc, enum (comma separated), default, min and max (value of a
// number, length of a string or list), pattern (RE2), format (date-time, uri,
// ...), secret ("true": masked everywhere) and example. A pointer or omitempty
// makes a field optional and nullable; a field with a default is optional.
//
// Where a field takes any value, numbers arrive as json.Number; a field of type
// Value keeps the document byte by byte.
//
// What a function may do a second time is said by the constructor of its
// action: Read, Idempotent, Keyed or Once.
package sdk

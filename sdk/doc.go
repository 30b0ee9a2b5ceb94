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
// makes a field optional and nullable; a field with a default is optional. Of an output
// it is what stands for the field where the answer of a test leaves it out.
//
// Where a field takes any value, numbers arrive as json.Number; a field of type
// Value keeps the document byte by byte.
//
// Answers are JSON that all readers read alike: Response.JSON and Document refuse
// bytes that are no UTF-8, a name that stands twice in one object, and numbers
// that become Infinity or have more than 1,000 digits, with the place.
//
// A paged action is one request and one call of Call.ReadPage: it finds the list,
// the next page, and what does not fit together.
//
// A service that wants OAuth 2.0 access tokens is called through
// Call.HTTP().WithGrant(ClientCredentials{...}) or with a RefreshToken: the host
// keeps the token, and it is renewed once when the service refuses it.
//
// What a function may do a second time is said by the constructor of its
// action: Read, Idempotent, Keyed or Once.
package sdk

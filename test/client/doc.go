// Package client holds a client of the HTTP API that is generated from
// docs/openapi.json alone, and the tests that use it against a real
// `flowrun serve`: what the document says must be enough to write a client.
package client

//go:generate go run ./gen

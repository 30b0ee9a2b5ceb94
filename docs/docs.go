// Package docs holds the documents of this folder that the program serves.
package docs

import _ "embed"

//go:embed openapi.json
var openAPI []byte

// OpenAPI returns the OpenAPI 3.1 document of the API, indented: what every server of
// this version has. `UPDATE=1 go test ./internal/web` writes it, of the operations
// that are served.
func OpenAPI() []byte { return openAPI }

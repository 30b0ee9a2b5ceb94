package web

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/flowrun/flowrun/internal/web/guard"
	"github.com/flowrun/flowrun/internal/web/wire"
)

// refusalCodes are the codes of an operation that say that the request was not
// right. What the server may lack is in `default`.
func refusalCodes(face guard.Face, op *huma.Operation) []wire.Code {
	codes := []wire.Code{wire.CodeBadRequest, wire.CodeHost, wire.CodeOrigin}
	if face == guard.FaceAPI {
		codes = append(codes, wire.CodeUnauthorized, wire.CodeForbidden, wire.CodeTooMany)
	}
	if strings.Contains(op.Path, "{") {
		codes = append(codes, wire.CodeNotFound)
	}
	if op.Method == http.MethodPost {
		codes = append(codes, wire.CodeTooLarge, wire.CodeMediaType)
	}
	own, _ := op.Metadata[refuses].([]wire.Code)
	return append(codes, own...)
}

// addRefusals gives an operation a response for each status that a request may be
// refused with.
func addRefusals(face guard.Face, op *huma.Operation) {
	byStatus := map[int][]string{}
	for _, code := range refusalCodes(face, op) {
		byStatus[code.Status()] = append(byStatus[code.Status()], "`"+string(code)+"`")
	}
	for status, codes := range byStatus {
		slices.Sort(codes)
		op.Responses[strconv.Itoa(status)] = &huma.Response{
			Description: fmt.Sprintf("%s: %s.", http.StatusText(status), strings.Join(slices.Compact(codes), ", ")),
			Content:     map[string]*huma.MediaType{wire.ProblemType: {Schema: &huma.Schema{Ref: schemaPrefix + refusalName(status)}}},
		}
	}
}

// refusalName names the schema of the problems of a status.
func refusalName(status int) string {
	return strings.ReplaceAll(http.StatusText(status), " ", "") + "Problem"
}

// addRefusalSchemas makes the schemas that addRefusals refers to: a problem with the
// codes of its status.
func addRefusalSchemas(document *huma.OpenAPI) {
	schemas := document.Components.Schemas.Map()
	whole := schemas["Problem"]
	used := map[int]bool{}
	for _, item := range document.Paths {
		for _, op := range []*huma.Operation{item.Get, item.Post, item.Put, item.Delete} {
			if op == nil {
				continue
			}
			for status, response := range op.Responses {
				n, err := strconv.Atoi(status)
				if media := response.Content[wire.ProblemType]; err == nil && media != nil && media.Schema.Ref == schemaPrefix+refusalName(n) {
					used[n] = true
				}
			}
		}
	}
	for status := range used {
		narrow, properties := *whole, maps.Clone(whole.Properties)
		code := *properties["code"]
		code.Enum = codesOf(slices.DeleteFunc(wire.Codes(), func(one wire.Code) bool { return one.Status() != status }))
		properties["code"] = &code
		narrow.Properties = properties
		narrow.Description = fmt.Sprintf("A problem of the status %d.", status)
		schemas[refusalName(status)] = &narrow
	}
}

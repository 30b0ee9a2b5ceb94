// Command generated is a plugin with as many actions as it was linked with, as a generator
// makes them of the description of a service: schemas that are written out, with
// definitions that lead to each other.
package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/flowrun/flowrun/sdk"
)

// Set by -ldflags -X.
var count = "0" // of the actions beside `used`

const defs = `"$defs":{"owner":{"type":"object","properties":{"login":{"type":"string","description":"The login of it"},"team":{"$ref":"#/$defs/team"},"id":{"type":"integer"}}},` +
	`"team":{"type":"object","properties":{"name":{"type":"string"},"lead":{"$ref":"#/$defs/owner"},"members":{"type":"array","items":{"$ref":"#/$defs/owner"}}}}}`

const input = `{"type":"object","additionalProperties":false,"properties":{"n":{"type":"integer","description":"A number of it"},"sort":{"enum":["asc","desc"]},` +
	`"page":{"type":"integer","minimum":1,"maximum":100},"owner":{"$ref":"#/$defs/owner"}},` + defs + `}`

func echo(_ *sdk.Call[struct{}], in sdk.Value) (sdk.Value, error) { return in, nil }

func main() {
	many, err := strconv.Atoi(count)
	if err != nil {
		panic(err) // who linked it
	}
	var fields strings.Builder
	for i := range 40 {
		fmt.Fprintf(&fields, `,"field_%d":{"type":"string","description":"The field number %d of the answer"}`, i, i)
	}
	output := `{"type":"object","properties":{"n":{"type":"integer"},"owner":{"$ref":"#/$defs/owner"},"team":{"$ref":"#/$defs/team"}` + fields.String() + `},` + defs + `}`
	parts := []sdk.Part{sdk.Read("used", "The one that is used", echo, sdk.Input([]byte(input)), sdk.Output([]byte(output)))}
	for i := range many {
		parts = append(parts, sdk.Read(fmt.Sprintf("generated_%05d", i), "One of many", echo, sdk.Input([]byte(input)), sdk.Output([]byte(output))))
	}
	sdk.New("generated", "1.0.0", "As a generator makes it", parts...).Serve()
}

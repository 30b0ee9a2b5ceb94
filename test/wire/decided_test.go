package wire

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"google.golang.org/grpc"

	"github.com/flowrun/flowrun/engine/schema"
	"github.com/flowrun/flowrun/proto/pluginv1grpc"
	"github.com/flowrun/flowrun/sdk"
	pluginv1 "github.com/flowrun/flowrun/sdk/proto/pluginv1"
)

// What the SDK says of random schemas: where they decide, Validate has nothing against what
// the host's reader takes.
func TestSchemasThatDecideSayAll(t *testing.T) {
	r := rand.New(rand.NewPCG(17, 82))
	var parts []sdk.Part
	schemas := map[string]string{}
	for i := range 400 {
		name := fmt.Sprintf("a%d", i)
		schemas[name] = `{"type":"object","additionalProperties":false,"properties":{"v":` + randomSchema(r, 0) + `}}`
		parts = append(parts, sdk.Read(name, "Random", func(*sdk.Call[struct{}], sdk.Value) (wireOut, error) { return wireOut{}, nil }, sdk.Input(json.RawMessage(schemas[name]))))
	}
	client := pluginv1grpc.NewPluginClient(servePlugin(t, sdk.New("random", "1.0.0", "Random schemas", parts...), grpc.NewServer()))
	described, err := client.Describe(t.Context(), &pluginv1.DescribeRequest{})
	if err != nil {
		t.Fatal(err)
	}
	decided, taken := 0, 0
	for _, a := range described.GetActions() {
		if !a.GetSchemasDecide() {
			continue
		}
		decided++
		input, err := schema.FromJSON(a.GetInputSchema())
		if err != nil || len(schema.Ignored(a.GetInputSchema())) > 0 {
			continue
		}
		for range 40 {
			doc := []byte(`{"v":` + randomValue(r, 0) + `}`)
			if _, err := input.DecodeExact(doc); err != nil {
				continue
			}
			taken++
			response, err := client.Validate(t.Context(), &pluginv1.ValidateRequest{Action: a.GetName(), Input: &pluginv1.Value{Json: doc}})
			if err != nil || len(response.GetDiagnostics()) > 0 {
				t.Errorf("%s takes %s by its schema %s, and the plugin says %v %v", a.GetName(), doc, a.GetInputSchema(), response, err)
			}
		}
	}
	if t.Logf("%d of 400 decide, %d inputs were taken", decided, taken); decided < 100 || decided > 350 || taken < 500 {
		t.Errorf("%d of 400 decide, %d inputs were taken: the test looks at little", decided, taken)
	}
}

func pick[T any](r *rand.Rand, of ...T) T { return of[r.IntN(len(of))] }

// randomSchema is a schema with some of the words that are read, and of those that are not.
func randomSchema(r *rand.Rand, depth int) string {
	var words []string
	add := func(chance int, word string) {
		if r.IntN(chance) == 0 {
			words = append(words, word)
		}
	}
	kind := pick(r, "string", "integer", "number", "boolean", "array", "object")
	switch r.IntN(8) {
	case 0: // any
	case 1:
		words = append(words, `"type":["`+kind+`","`+pick(r, "null", "string", "integer")+`"]`)
	default:
		words = append(words, `"type":"`+kind+`"`)
	}
	switch kind {
	case "string":
		add(5, fmt.Sprintf(`"minLength":%d`, r.IntN(3)))
		add(5, fmt.Sprintf(`"maxLength":%d`, r.IntN(6)))
		add(6, `"pattern":"^[a-z0-9:TZ.-]*$"`)
		add(5, `"format":"`+pick(r, "date-time", "duration", "uri", "email", "date")+`"`)
		add(6, `"enum":["a","A",null,"2024-01-01T00:00:00Z"]`)
	case "integer", "number":
		add(5, `"minimum":`+pick(r, "0", "-3", "1.5", "9007199254740993"))
		add(5, `"maximum":`+pick(r, "10", "2.5", "9007199254740993"))
		add(8, `"exclusiveMaximum":7`)
		add(6, `"enum":[`+pick(r, "1,2", "1.0,2", "-0", "1,null")+`]`)
		add(12, `"multipleOf":2`)
	case "array":
		if depth < 2 {
			add(2, `"items":`+randomSchema(r, depth+1))
		}
		add(5, `"minItems":1`)
		add(5, `"maxItems":2`)
	case "object":
		if depth < 2 {
			add(2, `"properties":{"a":`+randomSchema(r, depth+1)+`,"b":`+randomSchema(r, depth+1)+`},"required":["a"]`)
			add(3, `"additionalProperties":`+pick(r, "false", "true", randomSchema(r, depth+1)))
		}
	}
	add(12, `"nullable":true`)
	add(12, `"anyOf":[{"type":"string"},{"type":"integer"}]`)
	return "{" + strings.Join(words, ",") + "}"
}

// randomValue is a value as the checker of workflows hands one on: integers have no point.
func randomValue(r *rand.Rand, depth int) string {
	switch n := r.IntN(8); {
	case n == 0:
		return pick(r, "null", "true", "false")
	case n < 3 || depth > 2:
		return pick(r, "0", "1", "2", "-3", "7", "11", "9007199254740993", "9007199254740992")
	case n == 3:
		return pick(r, "0.5", "1.5", "2.50", "1e300", "-0.25")
	case n < 6:
		return pick(r, `""`, `"a"`, `"A"`, `"abcdefg"`, `"ü"`, `"2024-01-01T00:00:00Z"`, `"2024-02-29T1:00:00,5+14:00"`, `"1h"`, `"PT1S"`, `"https://example.com"`, `"2024-01-01"`)
	case n == 6:
		var list []string
		for range r.IntN(4) {
			list = append(list, randomValue(r, depth+1))
		}
		return "[" + strings.Join(list, ",") + "]"
	}
	var members []string
	for _, name := range []string{"a", "b", "c"} {
		if r.IntN(2) == 0 {
			members = append(members, `"`+name+`":`+randomValue(r, depth+1))
		}
	}
	return "{" + strings.Join(members, ",") + "}"
}

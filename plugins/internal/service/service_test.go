package service_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flowrun/flowrun/plugins/internal/recipe"
	"github.com/flowrun/flowrun/plugins/internal/service"
	"github.com/flowrun/flowrun/sdk"
	"github.com/flowrun/flowrun/sdk/sdktest"
)

type config struct{ sdk.HTTPSettings }

// shop is a service with an action of each effect.
func shop() service.Service {
	s := service.Service{
		Doc: "A shop", Check: &service.Check{Action: "look", Account: "/who"},
		Limits: []service.Limit{{Name: "calls", Requests: 5, Per: service.Duration(90 * time.Second), Fixed: true, Concurrent: 2}},
	}
	for _, a := range []struct{ name, effect, method, recipe string }{
		{"look", "read", "GET", `"refuse":[{"input":"id","if":"^x","say":"must not begin with {match}"}],`}, {"set", "idempotent", "PUT", ""}, {"pay", "keyed", "POST", `"key":"Idempotency-Key",`}, {"tell", "once", "POST", ""},
	} {
		s.Actions = append(s.Actions, service.Action{
			Head:   service.Head{Name: a.name, Doc: "To " + a.name, Effect: a.effect, Limits: []string{"calls"}, Timeout: service.Duration(time.Minute)},
			Input:  sdk.Value(`{"type":"object","properties":{"id":{"type":["string","null"]}},"additionalProperties":false}`),
			Output: sdk.Value(`{"type":"object","properties":{"who":{"type":"string"},"n":{"type":["integer","null"]}},"required":["who","n"]}`),
			Recipe: sdk.Value(`{` + a.recipe + `"method":"` + a.method + `","path":"/things","params":[{"input":"id","name":"id","in":"query"}],"envelope":{"data":"/data"}}`),
			Data:   "data", Faults: []service.Fault{{Code: sdk.CodeConflict, Reason: "taken", Doc: "It is taken."}},
			Examples: []service.Example{{Name: "one", Input: sdk.Value(`{"id":"a"}`), Output: sdk.Value(`{"who":"ann","n":1}`)}},
		})
	}
	return s
}

// open opens the plugin of the shop at a service that answers with a body.
func open(t *testing.T, own service.Own[config], body string) (p *sdktest.Plugin, asked *[]string) {
	t.Helper()
	asked = &[]string{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		*asked = append(*asked, r.Method+" "+r.RequestURI+" "+r.Header.Get("Idempotency-Key"))
		_, _ = io.WriteString(w, body)
	}))
	t.Cleanup(server.Close)
	return sdktest.Open(t, service.New("shop", "1.0.0", shop().Encode(), own), map[string]any{"base_url": server.URL}), asked
}

func TestWhatIsEncodedIsRead(t *testing.T) {
	t.Parallel()
	read, err := service.Read(shop().Encode())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(shop(), read); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if lines := strings.Count(string(shop().Encode()), "\n"); lines != len(shop().Actions)+2 {
		t.Errorf("it has %d lines: one for each action, and two", lines)
	}
}

func TestAPluginOfEachEffect(t *testing.T) {
	t.Parallel()
	p, asked := open(t, service.Own[config]{}, `{"data":{"who":"ann","n":null,"more":1.10}}`)
	for _, a := range p.Describe().Actions {
		if a.Timeout != time.Minute || len(a.Faults) != 1 || len(a.Examples) != 1 || a.Limiters[0] != "calls" {
			t.Errorf("%s is %+v", a.Name, a)
		}
		r := p.Call(a.Name, map[string]any{"id": "b"}, sdktest.Key("k-1"))
		if string(r.Output) != `{"who":"ann","n":null,"more":1.10}` {
			t.Errorf("%s gives %s, %v", a.Name, r.Output, r.Err)
		}
	}
	if diff := cmp.Diff([]string{"GET /things?id=b ", "PUT /things?id=b ", "POST /things?id=b k-1", "POST /things?id=b "}, *asked); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
	if l := p.Describe().Limiters[0]; l.Requests != 5 || l.Window != 90*time.Second || !l.FixedWindow || l.MaxConcurrent != 2 {
		t.Errorf("the limit is %+v", l)
	}
	if account, err := p.CheckConnection(); account != "ann" || err != nil {
		t.Errorf("the connection is of %q, %v", account, err)
	}
}

func TestAnswersAreHeldAgainstTheirSchema(t *testing.T) {
	t.Parallel()
	for body, word := range map[string]string{
		`{"data":[]}`: "`data` is a list where an object is due", `{}`: "`data` is null where an object is due", `{"data":{"n":1}}`: "no `who`",
		`{"data":{"who":null,"n":1}}`: "`who` of the record is null", `{"data":{"who":"ann","n":1.5}}`: "`n` is a number with a fraction",
		`{"data":{"who":"ann"}}`: "no `n`",
	} {
		p, _ := open(t, service.Own[config]{}, body)
		if r := p.Call("look", nil); r.Err == nil || r.Err.Code != sdk.CodeUnexpectedResponse || !strings.Contains(r.Err.Message, word) {
			t.Errorf("%s: %v, want %q", body, r.Err, word)
		}
	}
}

func TestWhatStandsAroundAnAction(t *testing.T) {
	t.Parallel()
	own := service.Own[config]{
		Around: map[string]service.Around[config]{
			"look": func(_ *sdk.Call[config], input sdk.Members, ask func(sdk.Members) (recipe.Reply, error)) (sdk.Value, error) {
				reply, err := ask(input.With("id", sdk.Text("c")))
				fields, _ := sdk.ReadMembers(reply.Output)
				return fields.With("n", sdk.Value(`7`)).JSON(), err
			},
			"": func(_ *sdk.Call[config], _ sdk.Members, _ func(sdk.Members) (recipe.Reply, error)) (sdk.Value, error) {
				return sdk.Value(`{"who":"nobody","n":0}`), nil
			},
		},
		With: func(*sdk.Call[config]) recipe.With { return recipe.With{} },
		Narrow: map[string]func(sdk.Value) sdk.Value{"look": func(output sdk.Value) sdk.Value {
			return sdk.Value(strings.Replace(string(output), `"integer"`, `"number"`, 1))
		}},
	}
	p, asked := open(t, own, `{"data":{"who":"ann"}}`)
	if r := p.Call("look", map[string]any{"id": "b"}); string(r.Output) != `{"who":"ann","n":7}` {
		t.Errorf("got %s, %v", r.Output, r.Err)
	}
	if r := p.Call("set", nil); string(r.Output) != `{"who":"nobody","n":0}` {
		t.Errorf("got %s, %v", r.Output, r.Err)
	}
	if diff := cmp.Diff([]string{"GET /things?id=c "}, *asked); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
	if _, narrowed := p.ValidateNarrow("look", map[string]any{}); !strings.Contains(string(narrowed), `"number"`) {
		t.Errorf("narrowed to %s", narrowed)
	}
}

func TestRefusedInputsAreNotSent(t *testing.T) {
	t.Parallel()
	p, asked := open(t, service.Own[config]{}, `{}`)
	if problems := p.Validate("look", map[string]any{"id": "xy"}); len(problems) != 1 || problems[0].Pointer != "/id" {
		t.Errorf("validate gives %v", problems)
	}
	if r := p.Call("look", map[string]any{"id": "xy"}); r.Err == nil || r.Err.Pointer != "/id" || len(*asked) != 0 {
		t.Errorf("%v after %d requests", r.Err, len(*asked))
	}
}

func TestAServiceThatCannotBeRead(t *testing.T) {
	t.Parallel()
	limit := shop()
	limit.Limits[0].Per = 0
	schema := shop()
	schema.Actions[0].Output = sdk.Value(`{"type":"objekt"}`)
	for name, text := range map[string]string{"no JSON": "{", "a limit without a window": string(limit.Encode()), "a schema": string(schema.Encode())} {
		if err := service.New("shop", "1.0.0", []byte(text), service.Own[config]{}).Err(); err == nil {
			t.Errorf("%s is taken", name)
		}
	}
	if err := service.New("shop", "1.0.0", shop().Encode(), service.Own[config]{}).Err(); err != nil {
		t.Errorf("the control: %v", err)
	}
}

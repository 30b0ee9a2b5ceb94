package mcp_test

import (
	"bufio"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/flowrun/flowrun/internal/testbuild"
	"github.com/flowrun/flowrun/plugins/mcp"
	"github.com/flowrun/flowrun/sdk"
	"github.com/flowrun/flowrun/sdk/sdktest"
)

// bench is a server of the tests, its tools as they were captured, and the plugin.
type bench struct {
	*testing.T
	dir, server string
	tools       string
}

func newBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{T: t, dir: t.TempDir()}
	b.server = filepath.Join(b.dir, "server")
	if err := testbuild.Program(b.server, "./testdata/server"); err != nil {
		t.Fatal(err)
	}
	b.tools = string(b.capture(mcp.Config{Command: []string{"./server"}}))
	return b
}

func (b *bench) options() mcp.Options {
	return mcp.Options{Dir: b.dir, Environ: []string{"PATH=" + os.Getenv("PATH"), "HOME=/", "LANG=C", "PLUGIN_SECRET=secret-of-the-plugin"}}
}

func (b *bench) capture(config mcp.Config) []byte {
	b.Helper()
	tools, err := mcp.Capture(b.Context(), config, b.options(), func(string) {})
	if err != nil {
		b.Fatal(err)
	}
	return tools
}

func (b *bench) told(settings map[string]any) sdktest.Told {
	whole := map[string]any{"tools": "t.json"}
	for name, value := range settings {
		whole[name] = value
	}
	return sdktest.Told{Name: "srv", Settings: whole, Files: map[string]string{"/tools": b.tools}}
}

func (b *bench) open(settings, config map[string]any) *sdktest.Plugin {
	b.Helper()
	if config == nil {
		config = map[string]any{"command": []string{"./server"}}
	}
	return sdktest.OpenTold(b.T, mcp.NewWith(b.options()), b.told(settings), config)
}

// listen starts the server at an address.
func (b *bench) listen(token string) string {
	b.Helper()
	command := exec.CommandContext(b.Context(), b.server, "--http", token)
	out, err := command.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := command.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		_ = command.Process.Kill() // it ends with the test
		_ = command.Wait()
	})
	address, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		b.Fatal(err)
	}
	return strings.TrimSpace(address)
}

type answer struct {
	Text    string           `json:"text"`
	Content []map[string]any `json:"content"`
	Data    json.RawMessage  `json:"data"`
}

func output(t testing.TB, r sdktest.Result) (out answer) {
	t.Helper()
	r.Decode(t, &out)
	return out
}

func TestEachToolIsAnAction(t *testing.T) {
	b := newBench(t)
	p := b.open(nil, nil)
	effects := map[string]string{}
	for _, a := range p.Describe().Actions {
		effects[a.Name] = strings.ToLower(strings.TrimPrefix(a.Effect, "EFFECT_"))
		if a.Name == "add_numbers" && a.Doc != "Adds two numbers" {
			t.Errorf("its doc is %q", a.Doc)
		}
	}
	for name, want := range map[string]string{"add_numbers": "read", "write": "idempotent", "append": "once", "crash": "once"} {
		if effects[name] != want {
			t.Errorf("%s is %q, want %q of %v", name, effects[name], want, effects)
		}
	}
	if sum := output(t, p.Call("add_numbers", map[string]any{"a": 2, "b": 40})); string(sum.Data) != `{"sum":42}` || sum.Text != `{"sum":42}` {
		t.Errorf("the sum: %+v", sum)
	}
	if big := output(t, p.Call("big_number", map[string]any{})); string(big.Data) != `{"n":9007199254740993}` {
		t.Errorf("a big number: %s", big.Data)
	}
	greeting := output(t, p.Call("greet", map[string]any{"name": "Ann"}))
	var kinds []string
	for _, block := range greeting.Content {
		kinds = append(kinds, block["type"].(string))
	}
	if greeting.Text != "hello Ann\nand more" || !slices.Equal(kinds, []string{"text", "image", "resource_link", "resource"}) || greeting.Content[1]["base64"] != "AQID" {
		t.Errorf("the greeting: %+v", greeting)
	}
	for action, input := range map[string]map[string]any{"add_numbers": {"a": 2, "bb": 3}, "greet": {"name": 7}} {
		if problems := p.Validate(action, input); len(problems) == 0 {
			t.Errorf("%s takes %v", action, input)
		}
	}
	account, failure := p.CheckConnection()
	if failure != nil || account != "tests 1.2.3, 10 tools" {
		t.Errorf("the connection: %q, %v", account, failure)
	}
}

func TestSettingsDecide(t *testing.T) {
	b := newBench(t)
	p := b.open(map[string]any{
		"only": []string{"w*", "append", "addNumbers"}, "except": []string{"wrong"}, "effects": map[string]string{"w*": "once", "addNumbers": "once", "append": "idempotent", "app*": "read"},
		"secrets": map[string][]string{"write": {"note"}}, "timeout": "5m",
	}, nil)
	got := map[string]string{}
	for _, a := range p.Describe().Actions {
		got[a.Name] = strings.ToLower(strings.TrimPrefix(a.Effect, "EFFECT_"))
		if a.Name == "write" && !strings.Contains(string(a.Input), `"writeOnly":true`) {
			t.Errorf("the note is no secret: %s", a.Input)
		}
	}
	if len(got) != 3 || got["write"] != "once" || got["add_numbers"] != "once" || got["append"] != "idempotent" {
		t.Errorf("actions %v", got)
	}
	no := false
	for _, a := range b.open(map[string]any{"trust_hints": no}, nil).Describe().Actions {
		if a.Effect != "EFFECT_ONCE" && !strings.EqualFold(a.Effect, "once") {
			t.Errorf("%s is %s though hints do not count", a.Name, a.Effect)
		}
	}
	for pointer, settings := range map[string]map[string]any{
		"/only/0": {"only": []string{"nope"}}, "/except/0": {"except": []string{"nope*"}}, "/effects/nope": {"effects": map[string]string{"nope": "read"}},
		"/effects/slow": {"effects": map[string]string{"slow": "keyed"}}, "/timeout": {"timeout": "soon"},
	} {
		described := sdktest.Tell(t, mcp.NewWith(b.options()), b.told(settings)).Describe()
		if len(described.Problems) != 1 || described.Problems[0].Pointer != pointer {
			t.Errorf("%s: %+v", pointer, described.Problems)
		}
	}
}

func TestToolsThatCanNotBeExpressedAreNamed(t *testing.T) {
	b := &bench{T: t, dir: t.TempDir()}
	b.tools = `[{"name":"good","inputSchema":{"type":"object","$schema":"http://json-schema.org/draft-07/schema#"}},
		{"name":"Good","inputSchema":{}},{"name":"%%%","inputSchema":{}},{"name":"list","inputSchema":[1]},
		{"name":"ref","inputSchema":{"type":"object","properties":{"a":{"$ref":"#/$defs/a"}},"$defs":{"a":{"type":"string"}}},"outputSchema":{"type":"object","properties":{"b":{"$ref":"#/$defs/b"}},"$defs":{"b":{"type":"integer"}}}}]`
	described := sdktest.Tell(t, mcp.NewWith(b.options()), b.told(nil)).Describe()
	var names []string
	for _, a := range described.Actions {
		names = append(names, a.Name)
	}
	slices.Sort(names)
	if !slices.Equal(names, []string{"good", "ref"}) || len(described.Problems) != 3 {
		t.Errorf("%v, %+v", names, described.Problems)
	}
	for _, broken := range []string{"", "{", `{"tools":[]}`, `[{"name":"a"},{"name":"a"}]`, `[{"inputSchema":{}}]`, `{"tools":7}`} {
		b.tools = broken
		if described := sdktest.Tell(t, mcp.NewWith(b.options()), b.told(nil)).Describe(); len(described.Problems) != 1 || described.Problems[0].Pointer != "/tools" || described.Problems[0].Warning {
			t.Errorf("%q: %+v", broken, described.Problems)
		}
	}
}

func TestFailuresSayWhatIsKnown(t *testing.T) {
	b := newBench(t)
	p := b.open(nil, nil)
	if failed := p.Call("wrong", map[string]any{}).Err; failed == nil || failed.Code != sdk.CodeInternal || failed.Reason != "tool_error" || failed.Applied != sdk.AppliedPartly || !strings.Contains(failed.Message, "it did not work out") {
		t.Errorf("a tool that fails: %+v", failed)
	}
	if failed := p.Call("crash", map[string]any{}).Err; failed == nil || failed.Code != sdk.CodeUnavailable || failed.Applied != sdk.AppliedUnknown || !strings.Contains(failed.Message, "out of memory, as it were") {
		t.Errorf("a server that ends: %+v", failed)
	}
	if sum := output(t, p.Call("add_numbers", map[string]any{"a": 1, "b": 1})); string(sum.Data) != `{"sum":2}` {
		t.Errorf("the server is started anew: %+v", sum)
	}
	b.tools = strings.ReplaceAll(b.tools, `"greet"`, `"greets"`)
	old := b.open(nil, nil)
	if failed := old.Call("greets", map[string]any{"name": "x"}).Err; failed == nil || failed.Code != sdk.CodeNotFound || failed.Reason != "no_tool" || failed.Applied != sdk.NotApplied {
		t.Errorf("a tool that is gone: %+v", failed)
	}
	if _, failed := old.CheckConnection(); failed == nil || !strings.Contains(failed.Message, "gone greets") {
		t.Errorf("tools that are gone: %v", failed)
	}
	for program, want := range map[string]sdk.Code{"./none": sdk.CodeNotFound, "no-such-program": sdk.CodeNotFound} {
		if failed := b.open(nil, map[string]any{"command": []string{program}}).Call("slow", map[string]any{"name": ""}).Err; failed == nil || failed.Code != want || failed.Applied != sdk.NotApplied {
			t.Errorf("%s: %+v", program, failed)
		}
	}
	if failed := b.open(nil, map[string]any{"command": []string{"./server", "--noise"}}).Call("slow", map[string]any{"name": ""}).Err; failed == nil || failed.Code != sdk.CodeUnavailable || failed.Applied != sdk.NotApplied || !strings.Contains(failed.Message, "and I say why") {
		t.Errorf("a program that is no server: %+v", failed)
	}
}

func TestProgressLogAndCancel(t *testing.T) {
	b := newBench(t)
	p := b.open(nil, nil)
	told := p.Call("slow", map[string]any{"name": ""})
	if told.Err != nil || len(told.Progress) == 0 || told.Progress[0] != 0.1 {
		t.Errorf("progress %v, %v", told.Progress, told.Err)
	}
	if !slices.ContainsFunc(told.Logs, func(l sdktest.Line) bool { return l.Message == "the server begins" }) {
		t.Errorf("what it says on stderr: %v", told.Logs)
	}
	mark := filepath.Join(b.dir, "canceled")
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	if failed := p.CallContext(ctx, "slow", map[string]any{"name": mark}).Err; failed == nil {
		t.Error("a call that was canceled succeeds")
	}
	await(t, func() bool { text, _ := os.ReadFile(mark); return string(text) == "canceled" })
	if again := p.Call("slow", map[string]any{"name": ""}); again.Err != nil {
		t.Errorf("after a cancel: %v", again.Err)
	}
}

func await(t *testing.T, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !holds(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("waited in vain")
		}
	}
}

func TestAServerAtAnAddress(t *testing.T) {
	b := newBench(t)
	address := b.listen("the-token")
	if tools := b.capture(mcp.Config{URL: address, TokenSettings: sdk.TokenSettings{Token: "the-token"}}); string(tools) != b.tools {
		t.Errorf("captured over HTTP:\n%s", tools)
	}
	p := b.open(nil, map[string]any{"url": address, "token": "the-token"})
	if sum := output(t, p.Call("add_numbers", map[string]any{"a": 2, "b": 2})); string(sum.Data) != `{"sum":4}` {
		t.Errorf("the sum: %+v", sum)
	}
	for name, c := range map[string]struct {
		config map[string]any
		code   sdk.Code
	}{
		"a wrong token":    {map[string]any{"url": address, "token": "another"}, sdk.CodeUnauthorized},
		"a redirect":       {map[string]any{"url": strings.TrimSuffix(address, "mcp") + "elsewhere", "token": "the-token"}, sdk.CodeUnexpectedResponse},
		"nobody is there":  {map[string]any{"url": "http://127.0.0.1:1/mcp"}, sdk.CodeUnavailable},
		"a header as well": {map[string]any{"url": address, "headers": map[string]string{"Authorization": "Bearer no"}}, sdk.CodeUnauthorized},
	} {
		if failed := b.open(nil, c.config).Call("add_numbers", map[string]any{"a": 2, "b": 2}).Err; failed == nil || failed.Code != c.code || failed.Applied != sdk.NotApplied {
			t.Errorf("%s: %+v", name, failed)
		}
	}
}

func TestAServerGetsWhatIsDeclaredAndNothingElse(t *testing.T) {
	b := newBench(t)
	p := b.open(nil, map[string]any{"command": []string{"./server"}, "env": map[string]string{"MODE": "test"}, "secret_env": map[string]string{"TOKEN": "secret-of-the-server"}})
	environment := output(t, p.Call("environment", map[string]any{})).Text
	if strings.Contains(environment, "PLUGIN_SECRET") || !strings.Contains(environment, "MODE=test") || !strings.Contains(environment, "TOKEN=secret-of-the-server") {
		t.Errorf("its environment:\n%s", environment)
	}
}

func TestWhatAServerStartsEndsWithIt(t *testing.T) {
	b := newBench(t)
	p := b.open(nil, nil)
	var pids []int
	for _, text := range strings.Fields(output(t, p.Call("child", map[string]any{})).Text) {
		pid, err := strconv.Atoi(text)
		if err != nil {
			t.Fatal(err)
		}
		pids = append(pids, pid)
	}
	// Another config of the connection: the server of the one before ends.
	if problems := p.Connect(sdktest.Connection, map[string]any{"command": []string{"./server"}, "env": map[string]string{"A": "b"}}); len(problems) > 0 {
		t.Fatal(problems)
	}
	output(t, p.Call("add_numbers", map[string]any{"a": 1, "b": 1}))
	for _, pid := range pids {
		await(t, func() bool { return syscall.Kill(pid, 0) != nil })
	}
}

func TestConfigs(t *testing.T) {
	b := newBench(t)
	p := sdktest.Tell(t, mcp.NewWith(b.options()), b.told(nil))
	for want, config := range map[string]map[string]any{
		"":              {},
		"/url":          {"command": []string{"a"}, "url": "http://x.example"},
		"/command":      {"command": []string{"a"}, "token": "x"},
		"/command/0":    {"command": []string{""}},
		"/headers/Host": {"url": "http://x.example/", "headers": map[string]string{"Host": "y"}},
	} {
		if problems := p.Connect("c", config); len(problems) != 1 || problems[0].Pointer != want {
			t.Errorf("%v: %+v", config, problems)
		}
	}
}

func TestASandboxAsksNobody(t *testing.T) {
	b := newBench(t)
	p := b.open(nil, map[string]any{"simulated": "sandbox"})
	if sum := output(t, p.Call("add_numbers", map[string]any{"a": 2, "b": 2})); string(sum.Data) != `{"sum":0}` {
		t.Errorf("simulated: %+v", sum)
	}
	if sent := output(t, p.Call("append", map[string]any{"name": filepath.Join(b.dir, "f"), "note": "x"})); len(sent.Content) != 0 {
		t.Errorf("simulated: %+v", sent)
	}
	if _, err := os.Stat(filepath.Join(b.dir, "f")); err == nil {
		t.Error("the server was asked")
	}
}

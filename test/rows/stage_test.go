package rows

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// secrets are what the owner of the store has in its environment. No value may
// show up in anything that a command prints.
var secrets = map[string]string{
	"TOKEN":         "tok-9fQ2-SECRET-7c",
	"CLIENT_SECRET": "cls-41xA-SECRET-e0",
	"API_KEY":       "key-77bD-SECRET-19",
	"SCIM_TOKEN":    "scm-30kE-SECRET-b4",
	"OLD_TOKEN":     "old-58vM-SECRET-2f",
	"PUBLIC_KEY":    "pub-62wR-SECRET-d8",
	"INVITE":        "inv-13 Za/SECRET%5f",
	"TMP_INVITE":    "tmp-inv-SECRET-01",
	"DOT":           "..",
	"X_KEY":         "xky-84tN-SECRET-6a",
	"PROXY":         "http://user:prx-29sL-SECRET-c3@127.0.0.1:9",
}

// leak marks what the services hand out and nobody may print: tokens, device
// codes.
const leak = "LEAK5SECRET"

// defaults are the settings of a connection where a case says nothing else.
var defaults = map[string]string{
	"tasks":      `{"base_url":"{{origin}}","token":"{{secret TOKEN}}"}`,
	"analytics":  `{"base_url":"{{origin}}","token":"{{secret TOKEN}}"}`,
	"netinfo":    `{"base_url":"{{origin}}"}`,
	"dictionary": `{"base_url":"{{origin}}"}`,
	"auth": `{"auth_url":"{{origin}}","client_id":"rows-client","client_secret":"{{secret CLIENT_SECRET}}","management_url":"{{secure}}",
		"api_key":"{{secret API_KEY}}","scim_token":"{{secret SCIM_TOKEN}}","allow_hosts":["127.0.0.1"],"ca_file":"{{authority}}"}`,
}

// act is a case on its way through the binary.
type act struct {
	*example
	way     way
	id      string // of its connection and steps
	service *service
	other   *service // a second port, which nothing may reach
	names   macros
	started time.Time
	seen    observed
}

// observed is what came of it.
type observed struct {
	results  []callResult
	requests []seen
	trouble  []string
	text     string // all that was printed
	code     int
	from, to time.Time
}

// stage is a project with the connections of many cases.
type stage struct {
	*program
	t         *testing.T
	acts      []*act
	tls       *tls.Config
	authority string
}

// newStage makes a project of these acts.
func newStage(t *testing.T, binary string, acts []*act) *stage {
	t.Helper()
	s := &stage{program: &program{binary: binary, dir: t.TempDir()}, t: t, acts: acts}
	s.env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + s.dir, "TZ=UTC"}
	for name, value := range secrets {
		s.env = append(s.env, "FLOWRUN_SECRET_"+name+"="+value)
	}
	s.tls, s.authority = authority(t, s.dir)
	connections := map[string]any{}
	for i, a := range acts {
		a.id = fmt.Sprintf("c%d%s", i, a.way[:1])
		s.open(a)
		for name, connection := range s.connections(a) {
			connections[name] = connection
		}
	}
	s.write("flowrun.yaml", map[string]any{"connections": connections})
	return s
}

// open gives an act its ports and names.
func (s *stage) open(a *act) {
	for _, port := range []**service{&a.service, &a.other} {
		opened, err := newService(s.tls)
		if err != nil {
			s.t.Fatal(err)
		}
		s.t.Cleanup(opened.close)
		*port = opened
	}
	a.names = macros{now: time.Now, values: map[string]string{
		"origin": "http://" + a.service.address(), "secure": "https://" + a.service.address(), "host": a.service.address(),
		"other": "http://" + a.other.address(), "authority": s.authority, "leak": leak, "login": a.id + "a",
	}}
	for name, value := range secrets {
		a.names.values["secret "+name], a.names.values["value "+name] = "${{ secrets."+name+" }}", value
	}
	a.service.names = a.names
}

// connections are those of an act: its own, and the login that gives it tokens.
func (s *stage) connections(a *act) map[string]any {
	own := a.plugin()
	made := map[string]any{a.id: map[string]any{"plugin": own, "config": s.config(a, own, a.config)}}
	if a.login != "" && own != "auth" {
		made[a.id+"a"] = map[string]any{"plugin": "auth", "config": s.config(a, "auth", nil)}
	}
	return made
}

// plugin is that of the case's calls.
func (e *example) plugin() string {
	name, _, _ := strings.Cut(e.calls[0].action, ".")
	return name
}

func (s *stage) config(a *act, plugin string, over map[string]json.RawMessage) map[string]json.RawMessage {
	config := map[string]json.RawMessage{}
	s.must(merge(&config, s.expand(a, defaults[plugin])))
	for name, value := range over {
		config[name] = json.RawMessage(s.expand(a, string(value)))
	}
	maps.DeleteFunc(config, func(_ string, value json.RawMessage) bool { return string(value) == "null" })
	return config
}

func (s *stage) expand(a *act, text string) string {
	out, err := a.names.expand(text)
	if err != nil {
		s.t.Fatalf("%s: %v", a, err)
	}
	return out
}

func (s *stage) must(err error) {
	if err != nil {
		s.t.Helper()
		s.t.Fatal(err)
	}
}

// write writes a file of the project; JSON is YAML.
func (s *stage) write(name string, content any) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", " ")
	s.must(encoder.Encode(content))
	s.must(os.WriteFile(filepath.Join(s.dir, name), out.Bytes(), 0o600))
}

// logins stores the tokens that cases begin with: the device flow through the
// binary, all at once.
func (s *stage) logins(ctx context.Context) {
	var steps []any
	for _, a := range s.acts {
		if a.login == "" {
			continue
		}
		a.started = time.Now()
		a.service.play([]answer{
			{status: 200, text: `{"device_code":"dc-` + leak + `","user_code":"WDJB-MJHT","verification_url":"https://login.example/device","expires_in":600,"interval":1}`},
			{status: 200, text: s.expand(a, a.login)},
		})
		connection := a.id
		if a.plugin() != "auth" {
			connection += "a"
		}
		start, wait := a.id+"_start", a.id+"_wait"
		steps = append(steps,
			map[string]any{"id": start, "needs": []any{}, "uses": "auth.device_start", "connection": connection, "with": map[string]any{"scopes": []string{"openid", "email"}}},
			map[string]any{"id": wait, "uses": "auth.device_wait", "connection": connection, "with": map[string]any{"flow_id": "${{ steps." + start + ".outputs.flow_id }}"}})
	}
	for chunk := range slices.Chunk(steps, 80) {
		s.write("logins.yaml", map[string]any{"flowrun": "v1", "name": "logins", "steps": chunk})
		r, err := s.run(ctx, "run", "logins.yaml")
		if err != nil || r.code != 0 {
			s.t.Fatalf("the logins: exit code %d, %v\n%s", r.code, err, r.stderr)
		}
	}
}

// perform runs all acts, both ways at the same time.
func (s *stage) perform(ctx context.Context, calls int) {
	s.logins(ctx)
	for _, a := range s.acts {
		a.play()
	}
	var done sync.WaitGroup
	queue := make(chan *act)
	for range calls {
		done.Go(func() {
			for a := range queue {
				s.must2(s.call(ctx, a))
			}
		})
	}
	var steps, again []*act
	for _, a := range s.acts {
		switch {
		case a.way == byStep && a.runs:
			again = append(again, a)
		case a.way == byStep:
			steps = append(steps, a)
		}
	}
	done.Go(func() {
		for _, a := range again {
			s.must2(s.workflowAgain(ctx, a))
		}
		for i, chunk := range slices.Collect(slices.Chunk(steps, 40)) {
			s.must2(s.workflow(ctx, fmt.Sprintf("rows-%d", i), chunk))
		}
	})
	for _, a := range s.acts {
		if a.way == byCall {
			queue <- a
		}
	}
	close(queue)
	done.Wait()
	for _, a := range s.acts {
		a.note()
	}
}

// must2 notes an error of a goroutine.
func (s *stage) must2(err error) {
	if err != nil {
		s.t.Error(err)
	}
}

// play gives the service all answers of the case in their order.
func (a *act) play() {
	var script []answer
	for _, c := range a.calls {
		script = append(script, c.answers...)
	}
	a.service.play(script)
}

// note takes over what the service saw.
func (a *act) note() {
	a.seen.requests, a.seen.trouble = a.service.requests()
	if strayed, _ := a.other.requests(); len(strayed) > 0 {
		a.seen.trouble = append(a.seen.trouble, fmt.Sprintf("the second port was asked: %v", strayed))
	}
}

// call makes the calls of a case with `flowrun call`.
func (s *stage) call(ctx context.Context, a *act) error {
	a.seen.from = time.Now()
	bound := map[string]string{}
	for _, c := range a.calls {
		time.Sleep(c.wait) // between two polls of a login: the service's own pace
		with, err := s.with(a, c, func(name string) string { return bound[name] })
		if err != nil {
			return err
		}
		given := string(with)
		if c.file { // as it is: what is secret stands there in clear
			for name, value := range secrets {
				with = bytes.ReplaceAll(with, []byte("${{ secrets."+name+" }}"), []byte(value))
			}
			given = "@" + a.id + ".with.json"
			s.write(given[1:], with)
		}
		r, err := s.run(ctx, "call", c.action, "--connection", a.id, "--with", given, "-o", "json")
		if err != nil {
			return fmt.Errorf("%s: %w", a, err)
		}
		a.seen.text += r.stdout + r.stderr
		var result callResult
		if err := json.Unmarshal([]byte(r.stdout), &result); err != nil {
			a.seen.trouble = append(a.seen.trouble, fmt.Sprintf("exit code %d, and stdout is no JSON: %v", r.code, err))
			result.Error = &failure{Message: r.stderr}
		}
		if (r.code == 0) != (result.Error == nil) {
			a.seen.trouble = append(a.seen.trouble, fmt.Sprintf("exit code %d does not fit %s", r.code, r.stdout))
		}
		a.seen.results = append(a.seen.results, result)
		bind(bound, c.want.outputs, result.Outputs)
	}
	a.seen.to = time.Now()
	return nil
}

// with is the input of a call. "{{bound NAME}}" is what an earlier call gave.
func (s *stage) with(a *act, c call, bound func(string) string) (json.RawMessage, error) {
	object := map[string]json.RawMessage{}
	for name, value := range c.with {
		var text string
		if json.Unmarshal(value, &text) == nil && strings.HasPrefix(text, "{{bound ") {
			encoded, err := json.Marshal(bound(strings.TrimSuffix(strings.TrimPrefix(text, "{{bound "), "}}")))
			if err != nil {
				return nil, err
			}
			object[name] = encoded
			continue
		}
		object[name] = json.RawMessage(s.expand(a, string(value)))
	}
	return compact(object)
}

func compact(v any) (json.RawMessage, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(v)
	return bytes.TrimSpace(out.Bytes()), err
}

// bind keeps the outputs that a case gives a name: "<bind NAME>".
func bind(bound map[string]string, wanted, got json.RawMessage) {
	var want, have map[string]any
	if json.Unmarshal(wanted, &want) != nil || json.Unmarshal(got, &have) != nil {
		return
	}
	for field, value := range want {
		if name, ok := boundName(value); ok {
			bound[name] = fmt.Sprint(have[field])
		}
	}
}

func boundName(value any) (string, bool) {
	text, _ := value.(string)
	name, found := strings.CutPrefix(text, "<bind ")
	return strings.TrimSuffix(name, ">"), found
}

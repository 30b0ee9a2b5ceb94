package oidc

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// project is a folder with a connection `work` to a server.
type project struct {
	t           *testing.T
	dir         string
	environment []string
}

// in is a JSON object.
type in = map[string]any

// newProject writes the project. {issuer} in a setting is the server's address;
// a setting that is nil is left out.
func newProject(t *testing.T, s *server, config in) *project {
	t.Helper()
	p := &project{t: t, dir: t.TempDir()}
	state, err := os.MkdirTemp("", "fro") // short: a socket lies in it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(state) })
	p.environment = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + p.dir, "TMPDIR=" + os.TempDir(), "FLOWRUN_STATE=" + state, "FLOWRUN_SECRET_CLIENT_SECRET=" + clientSecret}
	full := in{
		"issuer": "{issuer}", "client_id": clientID, "client_secret": "${{ secrets.CLIENT_SECRET }}",
		"scopes": []string{"openid", "email", "offline_access"}, "allow_hosts": []string{"127.0.0.1"},
	}
	for name, value := range config {
		if full[name] = value; value == nil {
			delete(full, name)
		}
	}
	encoded, err := json.Marshal(in{"connections": in{"work": in{"plugin": "auth", "config": full}}}) // JSON is YAML
	if err != nil {
		t.Fatal(err)
	}
	p.write("flowrun.yaml", strings.ReplaceAll(string(encoded), "{issuer}", s.issuer))
	return p
}

func (p *project) write(name, text string) {
	p.t.Helper()
	if err := os.WriteFile(filepath.Join(p.dir, name), []byte(text), 0o600); err != nil {
		p.t.Fatal(err)
	}
}

// said is how a command ended.
type said struct {
	code           int
	stdout, stderr string
}

// prompt is a line that asks a person to decide.
var prompt = regexp.MustCompile(`open (\S+) and enter the code (\S+), until`)

// flowrun runs a command. Each prompt of it is given to the next of the people;
// a nil does not come to decide.
func (p *project) flowrun(people []*person, args ...string) said {
	p.t.Helper()
	command := exec.CommandContext(p.t.Context(), binary, args...)
	command.Dir, command.Env, command.WaitDelay = p.dir, p.environment, 10*time.Second
	var stdout, stderr bytes.Buffer
	command.Stdout = &stdout
	lines, err := command.StderrPipe()
	if err != nil {
		p.t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		p.t.Fatal(err)
	}
	never := time.AfterFunc(patience, func() { _ = command.Process.Kill() })
	defer never.Stop()
	scanner := bufio.NewScanner(io.TeeReader(lines, &stderr))
	for seen := ""; scanner.Scan(); {
		found := prompt.FindStringSubmatch(scanner.Text())
		if found == nil || found[2] == seen || len(people) == 0 {
			continue
		}
		seen = found[2]
		if people[0] != nil {
			if err := people[0].decide(found[1], found[2]); err != nil {
				p.t.Errorf("a person could not decide: %v", err)
			}
		}
		people = people[1:]
	}
	_ = command.Wait() // the exit code is looked at
	all := said{command.ProcessState.ExitCode(), stdout.String(), stderr.String()}
	if strings.Contains(all.stdout+all.stderr, "canary") {
		p.t.Errorf("flowrun %s shows the client's secret: %+v", strings.Join(args, " "), all)
	}
	if len(people) > 0 {
		p.t.Errorf("flowrun %s asked too few people: %+v", strings.Join(args, " "), all)
	}
	return all
}

// login logs in, with a person who agrees.
func (p *project) login() {
	p.t.Helper()
	if r := p.flowrun([]*person{{}}, "connections", "login", "work"); r.code != 0 {
		p.t.Fatalf("log in: %+v", r)
	}
}

// call calls an action that must work, and returns its outputs.
func (p *project) call(action string, with in) in {
	p.t.Helper()
	r, answer := p.ask(action, with)
	if r.code != 0 || answer.Outputs == nil {
		p.t.Fatalf("auth.%s: %+v", action, r)
	}
	return answer.Outputs
}

// fails calls an action that must not work.
func (p *project) fails(action string, with in) failure {
	p.t.Helper()
	r, answer := p.ask(action, with)
	if r.code == 0 || answer.Error == nil {
		p.t.Fatalf("auth.%s: %+v", action, r)
	}
	return *answer.Error
}

// answer is what a call prints as JSON.
type answer struct {
	Outputs in
	Error   *failure
}

// failure is the error of a call.
type failure struct{ Kind, Reason, Message, Hint string }

func (p *project) ask(action string, with in) (r said, a answer) {
	p.t.Helper()
	encoded, err := json.Marshal(with)
	if err != nil || with == nil {
		encoded = []byte("{}")
	}
	r = p.flowrun(nil, "call", "auth."+action, "-o", "json", "--with", string(encoded))
	if err := json.Unmarshal([]byte(r.stdout), &a); err != nil {
		p.t.Fatalf("auth.%s: %v, %+v", action, err, r)
	}
	return r, a
}

// idOf reads the id of the only run of a list.
func idOf(t *testing.T, list string) string {
	t.Helper()
	var all struct{ Items []struct{ ID string } }
	if err := json.Unmarshal([]byte(list), &all); err != nil || len(all.Items) != 1 {
		t.Fatalf("%v: %s", err, list)
	}
	return all.Items[0].ID
}

//go:build linux

package main_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
)

// effects is a document with an operation of each effect.
const effects = `openapi: 3.0.3
info: {title: Effects, version: "1"}
servers: [{url: "https://effects.example.com"}]
paths:
  /thing:
    post: {operationId: post, responses: {"200": {description: ok}}}
    put: {operationId: put, responses: {"200": {description: ok}}}
  /keyed:
    post: {operationId: keyed, x-flowrun-effect: keyed, x-flowrun-key-header: X-Key, responses: {"200": {description: ok}}}
`

// TestIssue16_2_AKilledCallIsRepeatedAsItsEffectSays: kill -9 while the service has a
// request and has not answered. A POST parks the run; a PUT is sent again, a keyed POST
// with the same key.
func TestIssue16_2_AKilledCallIsRepeatedAsItsEffectSays(t *testing.T) {
	t.Parallel()
	for action, status := range map[string]string{"post": "paused", "put": "succeeded", "keyed": "succeeded"} {
		t.Run(action, func(t *testing.T) {
			t.Parallel()
			arrived := make(chan struct{}, 1)
			var mu sync.Mutex
			var keys []string
			service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				mu.Lock()
				keys = append(keys, r.Header.Get("X-Key"))
				first := len(keys) == 1
				mu.Unlock()
				if first {
					arrived <- struct{}{}
					<-r.Context().Done()
					return
				}
				w.Header().Set("Content-Type", "application/json")
				fmt.Fprint(w, `{}`)
			}))
			t.Cleanup(service.Close)
			r := &revised{t: t, binary: buildBinary(t), dir: t.TempDir()}
			write(t, r.dir, "effects.yaml", effects)
			write(t, r.dir, "flowrun.yaml", fmt.Sprintf("plugins:\n  svc: {source: \"bundled:openapi\", with: {document: effects.yaml}}\nconnections:\n  svc: {plugin: svc, config: {base_url: %q}}\n", service.URL))
			write(t, r.dir, "w.yaml", "flowrun: v1\nname: w\nsteps:\n  - {id: s, uses: svc."+action+"}\n")
			command := exec.Command(r.binary, "run", "w.yaml")
			command.Dir, command.Env = r.dir, append(os.Environ(), "XDG_STATE_HOME="+r.dir)
			if err := command.Start(); err != nil {
				t.Fatal(err)
			}
			<-arrived
			if err := command.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			_ = command.Wait() // killed: its error is expected
			id := r.onlyRun().ID
			_, _, _ = flowrunHere(t, r.binary, r.dir, []string{"XDG_STATE_HOME=" + r.dir}, "runs", "resume", id)
			if got := r.onlyRun().Status; got != status {
				t.Errorf("the run is %s, wanted %s", got, status)
			}
			mu.Lock()
			defer mu.Unlock()
			want := map[string]int{"post": 1, "put": 2, "keyed": 2}[action]
			if len(keys) != want || action == "keyed" && (keys[0] == "" || keys[0] != keys[1]) {
				t.Errorf("the requests had the keys %q", keys)
			}
		})
	}
}

// onlyRun is the only run of a project.
func (r *revised) onlyRun() (run struct{ ID, Status string }) {
	r.t.Helper()
	stdout, stderr, _ := flowrunHere(r.t, r.binary, r.dir, []string{"XDG_STATE_HOME=" + r.dir}, "runs", "list", "-o", "json")
	var list struct{ Items []struct{ ID, Status string } }
	if err := json.Unmarshal([]byte(stdout), &list); err != nil || len(list.Items) != 1 {
		r.t.Fatalf("the runs are %s%s (%v)", stdout, strings.TrimSpace(stderr), err)
	}
	return list.Items[0]
}

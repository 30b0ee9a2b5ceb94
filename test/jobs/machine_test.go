package jobs

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func (j *job) glob(pattern string) ([]string, error) {
	found, err := filepath.Glob(filepath.Join(j.dir, pattern))
	for i, file := range found {
		found[i], _ = filepath.Rel(j.dir, file)
	}
	return found, err
}

func deployHook(t *testing.T, j *job) {
	team := serve(t, func(http.ResponseWriter, request, int) {})
	const secret = "the hook's secret"
	j.environ = []string{"FLOWRUN_SECRET_TEAM_HOOK=" + team.URL, "FLOWRUN_SECRET_GITHUB_HOOK=" + secret}
	address := j.server(t)
	commit := strings.Repeat("7f3c2d10", 5)
	push := func(ref, delivery, key string) int {
		t.Helper()
		body := fmt.Sprintf(`{"ref": %q, "before": %q, "after": %q, "repository": {"id": 1}}`, ref, strings.Repeat("0", 40), commit)
		mac := hmac.New(sha256.New, []byte(key))
		mac.Write([]byte(body))
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address+"/hooks/deploy/push", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("X-GitHub-Delivery", delivery)
		r.Header.Set("X-Hub-Signature-256", "sha256="+hex.EncodeToString(mac.Sum(nil)))
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		_, _ = io.Copy(io.Discard, answer.Body)
		return answer.StatusCode
	}
	if status := push("refs/heads/main", "d-0", "another secret"); status != http.StatusUnauthorized {
		t.Errorf("a wrong signature is answered with %d", status)
	}
	if status := push("refs/heads/try", "d-1", secret); status != http.StatusAccepted {
		t.Errorf("another branch is answered with %d", status)
	}
	if status := push("refs/heads/main", "d-2", secret); status != http.StatusAccepted {
		t.Errorf("a push is answered with %d", status)
	}
	if status := push("refs/heads/main", "d-2", secret); status != http.StatusOK {
		t.Errorf("the same delivery is answered with %d", status)
	}
	until(t, "the team hears of it", func() bool { return len(team.requests("")) > 0 })
	if told := team.requests(""); len(told) != 1 || !strings.Contains(told[0].Body, "7f3c2d1 is live after") {
		t.Errorf("told %+v", told)
	}
	if j.read(t, "releases/"+commit+"/version") != "deployed "+commit+"\n" {
		t.Error("not deployed")
	}
}

func backup(t *testing.T, j *job) {
	old := filepath.Join(j.dir, "backups", "data-2020-01-01.tar")
	if err := os.WriteFile(old, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	then := time.Now().Add(-30 * 24 * time.Hour)
	if err := os.Chtimes(old, then, then); err != nil {
		t.Fatal(err)
	}
	j.write(t, "backups/data-2020-01-02.tar", "new")
	for range 2 { // a second one of the day replaces the first
		j.flowrun(t, 0, "run", "backup.yaml", "--out", "report=report.md")
	}
	if j.exists(t, "backups/data-2020-01-01.tar") || !j.exists(t, "backups/data-2020-01-02.tar") {
		t.Error("the old one stays, or the new one went")
	}
	archives, err := j.glob("backups/data-*.tar")
	if err != nil || len(archives) != 2 || !strings.Contains(j.read(t, archives[1]), "data/a.txt") {
		t.Errorf("archives %v, %v", archives, err)
	}
	if report := j.read(t, "report.md"); !strings.Contains(report, "# Backup of") || !strings.Contains(report, "0 old ones were removed") {
		t.Errorf("the report:\n%s", report)
	}
}

func approvedCommand(t *testing.T, j *job) {
	j.flowrun(t, 2, "run", "restart.yaml", "-i", "service=db; rm -rf /", "-i", "why=try this")
	id := strings.TrimSpace(decoded[struct{ Run struct{ ID string } }](t, j.flowrun(t, 8, "run", "restart.yaml", "-i", "service=worker", "-i", "why=memory grows", "-o", "json")).Run.ID)
	j.flowrun(t, 0, "runs", "approve", id, "agree", "--comment", "fine")
	j.flowrun(t, 0, "runs", "resume", id)
	if shown := j.flowrun(t, 0, "runs", "show", id); !strings.Contains(shown, "running") {
		t.Errorf("the run:\n%s", shown)
	}
	if log := j.flowrun(t, 0, "runs", "logs", id); !strings.Contains(log, "restarting worker") {
		t.Errorf("the log:\n%s", log)
	}
}

func fileDrop(t *testing.T, j *job) {
	orders := serve(t, func(w http.ResponseWriter, _ request, _ int) { w.WriteHeader(http.StatusAccepted) })
	local(t, j, "https://orders.example.com", orders)
	j.instead(t, "upload.yaml", "every: 30s", "every: 1s")
	j.environ = []string{"FLOWRUN_SECRET_ORDERS_KEY=key-1"}
	j.server(t)
	until(t, "the folder was looked at", func() bool {
		return strings.Contains(j.flowrun(t, 0, "schedules", "-o", "json"), `"last`)
	})
	var rows strings.Builder
	rows.WriteString("order,sku,count\n")
	for i := range 120 {
		fmt.Fprintf(&rows, "%d,S-1,2\n", i)
	}
	j.write(t, "drop/in/monday.csv", rows.String())
	until(t, "the file is moved", func() bool {
		done, _ := j.glob("drop/done/*.csv")
		return len(done) == 1 && !j.exists(t, "drop/in/monday.csv")
	})
	keys, count := map[string]bool{}, 0
	for _, r := range orders.requests("/orders/bulk") {
		keys[r.Header.Get("Idempotency-Key")] = true
		count += len(decoded[[]any](t, r.Body))
		if r.Header.Get("X-Api-Key") != "key-1" {
			t.Errorf("sent with the key %q", r.Header.Get("X-Api-Key"))
		}
	}
	if len(keys) != 3 || count != 120 {
		t.Errorf("%d orders in %d batches", count, len(keys))
	}
}

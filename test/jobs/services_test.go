package jobs

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// local has the connections of the plugin http reach this machine.
func local(t *testing.T, j *job, address string, s *service) {
	t.Helper()
	j.instead(t, "flowrun.yaml", "base_url: "+address, "private: true, base_url: "+s.URL)
}

func csvToAPI(t *testing.T, j *job) {
	shop := serve(t, func(w http.ResponseWriter, r request, count int) {
		if count == 1 {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		batch := decoded[struct{ Items []any }](t, r.Body)
		answerJSON(w, http.StatusOK, map[string]any{"accepted": len(batch.Items)})
	})
	local(t, j, "https://api.shop.example", shop)
	j.instead(t, "flowrun.yaml", "rate: 60/1m", "rate: 60/1s")
	j.environ = []string{"FLOWRUN_SECRET_SHOP_TOKEN=the-token"}
	var rows strings.Builder
	rows.WriteString("sku,count,price\n")
	for i := range 250 {
		fmt.Fprintf(&rows, "S-%d,%d,%d.5\n", i, i%7, i)
	}
	j.write(t, "export/stock.csv", rows.String()+"S-none,1,\n")
	outputs := decoded[struct {
		Outputs struct {
			Accepted     int
			WithoutPrice []string `json:"without_price"`
			Failed       []string
		}
	}](t, j.flowrun(t, 0, "run", "stock.yaml", "-o", "json")).Outputs
	if outputs.Accepted != 250 || !slices.Equal(outputs.WithoutPrice, []string{"S-none"}) || len(outputs.Failed) > 0 {
		t.Errorf("outputs %+v", outputs)
	}
	keys := map[string]int{}
	for _, r := range shop.requests("/v1/stock/batches") {
		keys[r.Header.Get("Idempotency-Key")]++
		if r.Header.Get("Authorization") != "Bearer the-token" {
			t.Errorf("sent with %q", r.Header.Get("Authorization"))
		}
	}
	if len(keys) != 3 || keys[""] > 0 || len(shop.requests("")) != 4 {
		t.Errorf("3 batches, one of them twice with its key, got %v", keys)
	}
}

func uptime(t *testing.T, j *job) {
	status := http.StatusServiceUnavailable
	site := serve(t, func(w http.ResponseWriter, r request, _ int) {
		if r.Path == "/broken" {
			w.WriteHeader(status)
		}
	})
	pager := serve(t, func(w http.ResponseWriter, _ request, _ int) {
		answerJSON(w, http.StatusAccepted, map[string]string{"status": "success"})
	})
	local(t, j, "https://events.pagerduty.com", pager)
	j.instead(t, "flowrun.yaml", `hosts: ["*"]`, `hosts: ["`+site.URL+`"], private: true`)
	j.instead(t, "uptime.yaml", "delay: 5s", "delay: 10ms")
	j.environ = []string{"FLOWRUN_SECRET_PAGERDUTY_KEY=routing-key-1"}
	run := func() {
		t.Helper()
		j.flowrun(t, 0, "run", "uptime.yaml", "-i", fmt.Sprintf(`sites=["%s/good", "%s/broken"]`, site.URL, site.URL))
	}
	run()
	run() // still down
	status = http.StatusOK
	run()
	var told []string
	for _, r := range pager.requests("/v2/enqueue") {
		event := decoded[struct {
			EventAction string `json:"event_action"`
			DedupKey    string `json:"dedup_key"`
			RoutingKey  string `json:"routing_key"`
		}](t, r.Body)
		told = append(told, event.EventAction+" "+strings.TrimPrefix(event.DedupKey, site.URL)+" "+event.RoutingKey)
	}
	if !slices.Equal(told, []string{"trigger /broken routing-key-1", "resolve /broken routing-key-1"}) {
		t.Errorf("PagerDuty heard %q", told)
	}
	if runs := j.flowrun(t, 0, "runs", "-o", "json"); strings.Contains(runs, "routing-key-1") {
		t.Error("the key is shown")
	}
}

func issuesDigest(t *testing.T, j *job) {
	var github *service
	github = serve(t, func(w http.ResponseWriter, r request, _ int) {
		issue := func(number int, more map[string]any) map[string]any {
			one := map[string]any{"number": number, "title": fmt.Sprint("Issue ", number), "html_url": fmt.Sprint("https://x/", number), "comments": number, "created_at": "2026-01-02T03:04:05Z", "labels": []any{}, "node_id": "more than is documented"}
			for name, value := range more {
				one[name] = value
			}
			return one
		}
		if strings.Contains(r.Query, "page=2") {
			answerJSON(w, http.StatusOK, []any{issue(3, nil), issue(4, map[string]any{"pull_request": map[string]any{"url": "https://x"}})})
			return
		}
		w.Header().Set("Link", `<`+github.URL+r.Path+`?`+r.Query+`&page=2>; rel="next"`)
		answerJSON(w, http.StatusOK, []any{issue(1, nil), issue(2, nil)})
	})
	j.instead(t, "github.openapi.yaml", "https://api.github.com", github.URL)
	j.environ = []string{"FLOWRUN_SECRET_GITHUB_TOKEN=gh-token"}
	j.flowrun(t, 0, "run", "digest.yaml", "--out", "digest=out.md")
	page := j.read(t, "out.md")
	third, first := strings.Index(page, "Issue 3"), strings.Index(page, "Issue 1")
	if !strings.Contains(page, "3 issues moved") || third < 0 || first < third || strings.Contains(page, "Issue 4") {
		t.Errorf("the digest:\n%s", page)
	}
	files, err := j.glob("digests/site/*.md")
	if err != nil || len(files) != 1 || j.read(t, files[0]) != page {
		t.Errorf("written: %v, %v", files, err)
	}
	if asked := github.requests("/repos/octo-org/site/issues"); len(asked) != 2 || asked[0].Header.Get("Authorization") != "Bearer gh-token" || !strings.Contains(asked[0].Query, "state=open") {
		t.Errorf("asked %+v", asked)
	}
}

func priceWatch(t *testing.T, j *job) {
	price := 30.0
	shop := serve(t, func(w http.ResponseWriter, _ request, _ int) {
		answerJSON(w, http.StatusOK, map[string]any{"name": "Kettle", "price": price, "currency": "EUR"})
	})
	chat := serve(t, func(http.ResponseWriter, request, int) {})
	local(t, j, "https://shop.example.com", shop)
	j.environ = []string{"FLOWRUN_SECRET_CHAT_HOOK=" + chat.URL}
	j.flowrun(t, 0, "run", "price.yaml", "--sandbox") // as docs/jobs/README.md shows it
	for _, price = range []float64{30, 31, 24.5, 24.5} {
		j.flowrun(t, 0, "run", "price.yaml")
	}
	if told := chat.requests(""); len(told) != 1 || !strings.Contains(told[0].Body, "Kettle: 24.5 EUR, it was 30") {
		t.Errorf("told %+v", told)
	}
	if asked := shop.requests("/products/kettle-17.json"); len(asked) != 4 {
		t.Errorf("asked %d times", len(asked))
	}
}

// The channel is down at first: the run has succeeded, the file is there, and the message
// comes by hand, under the same key.
func deliveredDigest(t *testing.T, j *job) {
	shop := serve(t, func(w http.ResponseWriter, _ request, _ int) {
		answerJSON(w, http.StatusOK, []any{map[string]any{"number": 1, "customer": "Ann", "total": 20}, map[string]any{"number": 2, "customer": "Bob", "total": 22.5}})
	})
	discord := serve(t, func(w http.ResponseWriter, r request, count int) {
		message := decoded[struct{ Content string }](t, r.Body)
		switch {
		case count == 1:
			w.WriteHeader(http.StatusServiceUnavailable)
		case message.Content == "" || len(message.Content) > 2000:
			w.WriteHeader(http.StatusBadRequest)
		default:
			w.WriteHeader(http.StatusNoContent)
		}
	})
	local(t, j, "https://shop.example.com", shop)
	j.environ = []string{"FLOWRUN_SECRET_DISCORD_HOOK=" + discord.URL + "/api/webhooks/1/s3cret", "FLOWRUN_SECRET_OPS_HOOK=" + discord.URL}
	j.flowrun(t, 0, "run", "orders.yaml", "--scheduled-at", "2026-03-02T07:00:00+01:00")
	page := j.read(t, "digests/orders-2026-03-02T06:00:00Z.md")
	if !strings.Contains(page, "**2 open orders**, 42.5 EUR") {
		t.Errorf("the digest:\n%s", page)
	}
	id := decoded[struct{ Items []struct{ ID string } }](t, j.flowrun(t, 0, "runs", "-o", "json")).Items[0].ID
	shown := j.flowrun(t, 0, "runs", "deliver", id) + j.flowrun(t, 0, "runs", "show", id)
	if strings.Count(shown, "delivered") != 4 || strings.Contains(shown, "s3cret") {
		t.Errorf("shown:\n%s", shown)
	}
	sent := discord.requests("")
	if len(sent) != 2 || sent[0].Body != sent[1].Body || decoded[struct{ Content string }](t, sent[1].Body).Content != page ||
		sent[0].Header.Get("Idempotency-Key") == "" || sent[0].Header.Get("Idempotency-Key") != sent[1].Header.Get("Idempotency-Key") {
		t.Errorf("sent %+v", sent)
	}
}

func contactsSync(t *testing.T, j *job) {
	crm := serve(t, func(w http.ResponseWriter, r request, _ int) {
		page := []any{}
		if !strings.Contains(r.Query, "page=2") {
			for i := range 50 {
				page = append(page, map[string]any{"id": i, "name": "N", "mail": fmt.Sprintf("n%d@example.org", i), "news": i%2 == 0})
			}
		} else {
			page = append(page, map[string]any{"id": 50, "name": "Ö", "mail": "ö/1@example.org", "news": true}, map[string]any{"id": 51, "name": "none", "news": true})
		}
		answerJSON(w, http.StatusOK, map[string]any{"ok": true, "result": map[string]any{"items": page, "total": 52}})
	})
	news := serve(t, func(w http.ResponseWriter, r request, _ int) {
		mail := strings.TrimPrefix(r.Path, "/lists/monthly/subscribers/")
		if mail == "n4@example.org" {
			w.WriteHeader(http.StatusGone)
			return
		}
		answerJSON(w, http.StatusOK, map[string]any{"mail": mail, "name": "N", "state": "subscribed"})
	})
	j.instead(t, "crm.yaml", "https://crm.example.com", crm.URL)
	j.instead(t, "newsletter.yaml", "https://news.example.com", news.URL)
	j.environ = []string{"FLOWRUN_SECRET_CRM_TOKEN=crm-1", "FLOWRUN_SECRET_NEWS_TOKEN=news-1"}
	outputs := decoded[struct {
		Outputs struct {
			Subscribed int
			Failed     []string
		}
	}](t, j.flowrun(t, 0, "run", "sync.yaml", "-o", "json")).Outputs
	if outputs.Subscribed != 25 || len(outputs.Failed) != 1 {
		t.Errorf("outputs %+v", outputs)
	}
	if odd := news.requests("/lists/monthly/subscribers/ö/1@example.org"); len(odd) != 1 || odd[0].Method != http.MethodPut || odd[0].Header.Get("Authorization") != "Bearer news-1" {
		t.Errorf("the address with a slash: %+v", odd)
	}
}

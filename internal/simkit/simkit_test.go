package simkit

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const whole = `{"success":true,"data":{"name":"whole"}}`

// start serves a small service behind a new kit.
func start(t *testing.T, o Options) (*Kit, *httptest.Server) {
	t.Helper()
	k := New(o)
	srv := httptest.NewServer(k.Handler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, whole)
	})))
	t.Cleanup(srv.Close)
	return k, srv
}

func add(t *testing.T, k *Kit, f Fault) {
	t.Helper()
	if err := k.Add(f); err != nil {
		t.Fatal(err)
	}
}

// get returns status, body and the error of the request or of reading its body.
func get(t *testing.T, url string) (*http.Response, string, error) {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Get(url)
	if err != nil {
		return nil, "", err
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	return resp, string(body), err
}

func TestFaultHitsTheRequestsItNames(t *testing.T) {
	tests := map[string]struct {
		fault Fault
		paths []string
		want  []int
	}{
		"the first one by default":      {Fault{Status: 503}, []string{"/a", "/a"}, []int{503, 200}},
		"the second one":                {Fault{Status: 503, Nth: 2}, []string{"/a", "/a", "/a"}, []int{200, 503, 200}},
		"two from the second on":        {Fault{Status: 503, Nth: 2, Count: 2}, []string{"/a", "/a", "/a", "/a"}, []int{200, 503, 503, 200}},
		"all":                           {Fault{Status: 503, Count: Forever}, []string{"/a", "/a", "/b"}, []int{503, 503, 503}},
		"only its path":                 {Fault{Status: 503, Path: "/b", Count: Forever}, []string{"/a", "/b", "/a"}, []int{200, 503, 200}},
		"only paths of its pattern":     {Fault{Status: 503, Path: "/x/*", Count: Forever}, []string{"/x", "/x/1", "/x/1/2"}, []int{200, 503, 200}},
		"all below a prefix":            {Fault{Status: 503, Path: "/x/**", Count: Forever}, []string{"/x", "/x/1", "/x/1/2"}, []int{200, 503, 503}},
		"other requests aren't counted": {Fault{Status: 503, Path: "/b", Nth: 2}, []string{"/b", "/a", "/b"}, []int{200, 200, 503}},
		"only its method":               {Fault{Status: 503, Method: "POST"}, []string{"/a"}, []int{200}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			k, srv := start(t, Options{})
			add(t, k, tt.fault)
			var got []int
			for _, p := range tt.paths {
				resp, _, err := get(t, srv.URL+p)
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, resp.StatusCode)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("statuses (-want +got):\n%s", diff)
			}
		})
	}
}

func TestFaultAnswers(t *testing.T) {
	tests := map[string]struct {
		fault  Fault
		status int
		ctype  string
		body   string
	}{
		"a page instead of JSON":     {Fault{HTML: true}, 200, "text/html; charset=utf-8", htmlPage},
		"another type":               {Fault{ContentType: "text/plain"}, 200, "text/plain", whole},
		"no body":                    {Fault{Empty: true}, 200, "application/json", ""},
		"a body of its own":          {Fault{Body: `[]`, Status: 418}, 418, "application/json", `[]`},
		"a body cut with its length": {Fault{Truncate: 9}, 200, "application/json", whole[:9]},
		"a page with a bad status":   {Fault{HTML: true, Status: 502}, 502, "text/html; charset=utf-8", htmlPage},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			k, srv := start(t, Options{})
			add(t, k, tt.fault)
			resp, body, err := get(t, srv.URL+"/a")
			if err != nil {
				t.Fatal(err)
			}
			if resp.StatusCode != tt.status || resp.Header.Get("Content-Type") != tt.ctype || body != tt.body {
				t.Errorf("got %d %q %q, want %d %q %q", resp.StatusCode, resp.Header.Get("Content-Type"), body, tt.status, tt.ctype, tt.body)
			}
		})
	}
}

func TestFaultSetsRetryAfterAndHeaders(t *testing.T) {
	k, srv := start(t, Options{})
	add(t, k, Fault{Status: 429, RetryAfter: "7", Header: map[string]string{"X-Trace": "t1"}})
	resp, _, err := get(t, srv.URL)
	if err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode != 429 || resp.Header.Get("Retry-After") != "7" || resp.Header.Get("X-Trace") != "t1" {
		t.Errorf("got %d %v", resp.StatusCode, resp.Header)
	}
}

func TestFaultDropsTheConnection(t *testing.T) {
	for _, drop := range []Drop{DropBefore, DropAfter} {
		t.Run(string(drop), func(t *testing.T) {
			handled := 0
			k := New(Options{})
			srv := httptest.NewServer(k.Handler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { handled++ })))
			add(t, k, Fault{Drop: drop})
			if _, _, err := get(t, srv.URL); err == nil {
				t.Error("got an answer, want a broken connection")
			}
			srv.Close()
			want := map[Drop]int{DropBefore: 0, DropAfter: 1}[drop]
			if handled != want {
				t.Errorf("the service handled %d requests, want %d", handled, want)
			}
			if got := k.Requests()[0].Outcome; got != "dropped" {
				t.Errorf("journal says %q, want dropped", got)
			}
		})
	}
}

func TestFaultCutsTheBodyOnTheWire(t *testing.T) {
	k, srv := start(t, Options{})
	add(t, k, Fault{Truncate: 9, Cut: true})
	_, body, err := get(t, srv.URL)
	if !errors.Is(err, io.ErrUnexpectedEOF) || body != whole[:9] {
		t.Errorf("got %q and %v, want %q and unexpected EOF", body, err, whole[:9])
	}
}

func TestFaultHugeBody(t *testing.T) {
	k, srv := start(t, Options{})
	add(t, k, Fault{HugeBytes: 3 << 20})
	_, body, err := get(t, srv.URL)
	if err != nil || len(body) < 3<<20 || !json.Valid([]byte(body)) {
		t.Errorf("got %d bytes and %v", len(body), err)
	}
}

func TestFaultDelaysUntilTheClientLeaves(t *testing.T) {
	k, srv := start(t, Options{})
	add(t, k, Fault{DelayMS: 60_000})
	client := &http.Client{Timeout: 20 * time.Millisecond}
	if _, err := client.Get(srv.URL); err == nil {
		t.Error("got an answer, want a timeout")
	}
	srv.Close() // waits for the handler: a delay that outlived its client would hang here
}

func TestFaultsAreChecked(t *testing.T) {
	for _, f := range []Fault{
		{}, {Drop: "sometimes"}, {Status: 99}, {Status: 500, Nth: -1}, {Status: 500, Count: -2}, {DelayMS: -1}, {Cut: true}, {Status: 500, Path: "/[a"},
	} {
		if err := New(Options{}).Add(f); err == nil {
			t.Errorf("%+v is accepted", f)
		}
	}
}

func TestJournalNotesRequests(t *testing.T) {
	at := time.Date(2031, 5, 6, 7, 8, 9, 0, time.UTC)
	k, srv := start(t, Options{Now: func() time.Time { return at }})
	for _, p := range []string{"/a?x=1", "/b%2Fc", "/a"} {
		if _, _, err := get(t, srv.URL+p); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(map[string]int{"/a": 2, "/b%2Fc": 1}, k.Counts()); diff != "" {
		t.Errorf("counts (-want +got):\n%s", diff)
	}
	first := k.Requests()[0]
	if first.Seq != 1 || first.Method != "GET" || first.Path != "/a" || first.Query != "x=1" || !first.At.Equal(at) || first.Status != 200 {
		t.Errorf("first entry %+v", first)
	}
	if first.Header["user-agent"] == "" {
		t.Errorf("headers %v lack user-agent in lower case", first.Header)
	}
	if k.Count("") != 3 || k.Count("/a") != 2 || k.Count("/none") != 0 {
		t.Errorf("counts %d %d %d", k.Count(""), k.Count("/a"), k.Count("/none"))
	}
}

func TestJournalStaysBounded(t *testing.T) {
	k := New(Options{})
	h := k.Handler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	r := httptest.NewRequest("GET", "/a", nil)
	for range journalCap + 5 {
		h.ServeHTTP(httptest.NewRecorder(), r)
	}
	all := k.Requests()
	if len(all) != journalCap || all[0].Seq != 6 || all[len(all)-1].Status != 200 || k.Count("") != journalCap+5 {
		t.Errorf("kept %d from %d on, count %d", len(all), all[0].Seq, k.Count(""))
	}
}

func TestControlEndpoint(t *testing.T) {
	resets := 0
	k, srv := start(t, Options{Reset: func() { resets++ }})
	do := func(method, path, body string) (int, string) {
		t.Helper()
		req, err := http.NewRequest(method, srv.URL+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		resp, err := srv.Client().Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = resp.Body.Close() }()
		b, _ := io.ReadAll(resp.Body)
		return resp.StatusCode, string(b)
	}
	if status, body := do("POST", "/_sim/faults", `{"path":"/a","status":503}`); status != 201 || !strings.Contains(body, `"status":503`) {
		t.Fatalf("add a fault: %d %s", status, body)
	}
	if status, _ := do("POST", "/_sim/faults", `[{"status":500,"path":"/b"},{"html":true,"path":"/c"}]`); status != 201 {
		t.Fatalf("add two faults: %d", status)
	}
	for _, bad := range []string{`{"statu":503}`, `[{"status":500},{}]`, `nonsense`, ``} {
		if status, body := do("POST", "/_sim/faults", bad); status != 400 || !strings.Contains(body, "error") {
			t.Errorf("fault %q: %d %s, want 400", bad, status, body)
		}
	}
	if n := len(k.Faults()); n != 3 {
		t.Fatalf("%d faults are set, want 3: a list with a wrong one sets none", n)
	}
	if status, _ := do("GET", "/a", ""); status != 503 {
		t.Errorf("the fault of the control endpoint does nothing: %d", status)
	}
	do("GET", "/b", "")
	status, body := do("GET", "/_sim/requests?path=/a", "")
	var j Journal
	if err := json.Unmarshal([]byte(body), &j); err != nil || status != 200 {
		t.Fatalf("journal: %d %v", status, err)
	}
	if j.Total != 2 || len(j.Requests) != 1 || j.Counts["/b"] != 1 || j.Requests[0].Outcome != "fault" {
		t.Errorf("journal %+v", j)
	}
	if status, _ := do("DELETE", "/_sim/faults", ""); status != 204 || len(k.Faults()) != 0 {
		t.Errorf("delete: %d, %d faults left", status, len(k.Faults()))
	}
	if status, _ := do("POST", "/_sim/reset", ""); status != 204 || k.Count("") != 0 || resets != 1 {
		t.Errorf("reset: %d, %d requests left, %d resets", status, k.Count(""), resets)
	}
	if status, _ := do("GET", "/_sim/other", ""); status != 404 {
		t.Errorf("unknown control path: %d", status)
	}
}

func TestWindowStartsAtTheFirstRequest(t *testing.T) {
	now := time.Date(2031, 5, 6, 7, 8, 9, 0, time.UTC)
	w := NewWindow(2, time.Minute, func() time.Time { return now })
	take := func(after time.Duration, client string) Grant {
		now = now.Add(after)
		return w.Take(client)
	}
	steps := []struct {
		after  time.Duration
		client string
		want   Grant
	}{
		{0, "a", Grant{true, 2, 1, time.Minute, time.Minute}},
		{50 * time.Second, "a", Grant{true, 2, 0, time.Minute, 10 * time.Second}},
		{9 * time.Second, "a", Grant{false, 2, 0, time.Minute, time.Second}},
		{0, "b", Grant{true, 2, 1, time.Minute, time.Minute}}, // another address has its own window
		{time.Second, "a", Grant{true, 2, 1, time.Minute, time.Minute}},
		{0, "a", Grant{true, 2, 0, time.Minute, time.Minute}},
		{0, "a", Grant{false, 2, 0, time.Minute, time.Minute}},
	}
	for i, s := range steps {
		if diff := cmp.Diff(s.want, take(s.after, s.client)); diff != "" {
			t.Errorf("request %d (-want +got):\n%s", i+1, diff)
		}
	}
	w.Reset()
	if !w.Take("a").OK {
		t.Error("no grant after a reset")
	}
	if g := NewWindow(0, time.Minute, nil).Take("a"); !g.OK {
		t.Error("a limiter without a limit refuses")
	}
}

func TestClientIsTheAddressWithoutPort(t *testing.T) {
	r := httptest.NewRequest("GET", "/", nil)
	for addr, want := range map[string]string{"192.0.2.1:1234": "192.0.2.1", "[2001:db8::1]:80": "2001:db8::1", "@": "@"} {
		r.RemoteAddr = addr
		if got := Client(r); got != want {
			t.Errorf("client of %s is %s, want %s", addr, got, want)
		}
	}
}

func TestWriteJSONKeepsTextsAsTheyAre(t *testing.T) {
	rec := httptest.NewRecorder()
	WriteJSON(rec, 200, map[string]string{"a": "<b> & 词"})
	if got := bytes.TrimSpace(rec.Body.Bytes()); string(got) != `{"a":"<b> & 词"}` {
		t.Errorf("got %s", got)
	}
}

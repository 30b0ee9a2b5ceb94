package trigger_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/flowrun/flowrun/engine"
	"github.com/flowrun/flowrun/engine/fault"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/trigger"
)

const hookWorkflow = `flowrun: v1
name: site report
inputs:
  site: {type: string, minLength: 1}
  count: {type: integer, default: 7}
  who: {type: object, properties: {name: {type: string}}, nullable: true, default: null}
  how: {type: string, default: ""}
triggers:
  signed:
    webhook:
      auth: {hmac_sha256: {secret: "${{ secrets.HOOK }}", header: X-Signature, prefix: "sha256="}}
      dedupe: ${{ request.headers["x-event-id"] ?? "" }}
      body: {type: object, required: [site], properties: {site: {type: string}, count: {type: integer}, who: {type: object, properties: {name: {type: string}}}}}
    inputs:
      site: ${{ request.body.site }}
      count: ${{ request.body.count ?? 1 }}
      who: ${{ request.body.who }}
      how: ${{ request.method + " " + (request.query.via ?? "-") + " " + (request.headers["authorization"] ?? "none") }}
  timed:
    webhook:
      auth: {hmac_sha256: {secret: "${{ secrets.HOOK }}", header: X-Signature, timestamp_header: X-Timestamp}}
    inputs: {site: "${{ toJSON(request.body) }}"}
  keyed:
    webhook:
      auth: {hmac_sha256: {secret: "${{ secrets.HOOK }}", header: X-Signature, timestamp_header: X-Timestamp}}
      dedupe: ${{ request.headers["x-event-id"] ?? "" }}
    inputs: {site: "${{ toJSON(request.body) }}"}
  versioned:
    webhook: {auth: {hmac_sha256: {secret: "${{ secrets.HOOK }}", header: X-Signature, prefix: v0=, timestamp_header: X-Timestamp}}}
    inputs: {site: x}
  token:
    webhook: {auth: {token: "${{ secrets.TOKEN }}"}, body: {type: object, properties: {site: {type: string}}, additionalProperties: false}}
    inputs: {site: "${{ request.body.site ?? 'none' }}"}
  unset:
    webhook: {auth: {token: "${{ secrets.MISSING }}"}}
    inputs: {site: x}
  hollow:
    webhook: {auth: {hmac_sha256: {secret: "${{ secrets.EMPTY }}", header: X-Signature}}}
    inputs: {site: x}
steps:
  - {id: say, uses: core.log, with: {text: "${{ inputs.site }}"}}
outputs:
  site: ${{ inputs.site }}
  count: ${{ inputs.count }}
  how: ${{ inputs.how }}
  who: ${{ inputs.who }}
  trigger: ${{ trigger.name + " " + trigger.kind }}
  at: ${{ trigger.at }}
`

func hooks(t *testing.T) (*engine.Engine, *testClock) {
	t.Helper()
	dir, clock := hookProject(t)
	return triggered(t, dir, clock, nil), clock
}

func hookProject(t *testing.T) (dir string, clock *testClock) {
	t.Helper()
	dir = t.TempDir()
	clock = &testClock{at: time.Date(2026, 3, 28, 23, 30, 0, 0, time.UTC)}
	writePlain(t, dir, "flowrun.yaml", "workflows: [flow.yaml]\n")
	writePlain(t, dir, "flow.yaml", hookWorkflow)
	return dir, clock
}

// signature is what a sender puts into the header.
func signature(key, text string) string {
	mac := hmac.New(sha256.New, []byte(key))
	mac.Write([]byte(text))
	return hex.EncodeToString(mac.Sum(nil))
}

// signedRequest is a request to the trigger `signed`.
func signedRequest(body string, headers ...string) trigger.HookRequest {
	r := trigger.HookRequest{Method: "POST", Header: http.Header{}, Body: []byte(body), Remote: "192.0.2.7:4711"}
	r.Header.Set("X-Signature", "sha256="+signature("s3cret", body))
	r.Header.Set("Content-Type", "application/json")
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	return r
}

func send(t *testing.T, e *engine.Engine, name string, r trigger.HookRequest) string {
	t.Helper()
	answer, err := e.Hook(t.Context(), "site report", name, r)
	var refused *trigger.HookRefusedError
	switch {
	case errors.As(err, &refused):
		return fmt.Sprintf("%d %s", refused.Status, refused.Message)
	case err != nil:
		t.Fatal(err)
	case answer.Repeated:
		return "200 " + answer.Run
	}
	return "202 " + answer.Run
}

func runOutputs(t *testing.T, e *engine.Engine, answer string) map[string]any {
	t.Helper()
	result, err := e.Wait(t.Context(), answer[len("202 "):])
	if err != nil || result.Run.Status != runs.RunSucceeded {
		t.Fatalf("%+v %v", result, err)
	}
	outputs := map[string]any{}
	for name, text := range result.Outputs {
		var value any
		if err := json.Unmarshal(text, &value); err != nil {
			t.Fatal(err)
		}
		outputs[name] = value
	}
	return outputs
}

func firesOf(t *testing.T, e *engine.Engine, workflow, trigger string) []runs.Fire {
	t.Helper()
	fires, _, err := e.Store().Fires(runs.FireFilter{Workflow: workflow, Trigger: trigger, Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	return fires
}

func TestASignedRequestStartsARun(t *testing.T) {
	e, clock := hooks(t)
	r := signedRequest(`{"site":"A","who":{"name":"Ann","extra":[1]},"more":{"unknown":true}}`, "Authorization", "Bearer abc", "X-Other", "1")
	r.Query = map[string][]string{"via": {"mail", "post"}}
	answer := send(t, e, "signed", r)
	if !strings.HasPrefix(answer, "202 ") {
		t.Fatal(answer)
	}
	got := runOutputs(t, e, answer)
	who, _ := json.Marshal(got["who"])
	if got["site"] != "A" || got["count"] != 1.0 || got["how"] != "POST mail none" || string(who) != `{"name":"Ann"}` ||
		got["trigger"] != "signed webhook" || got["at"] != clock.now().Format(time.RFC3339) {
		t.Errorf("outputs: %v", got)
	}
	row, err := e.Store().Run(answer[4:])
	if err != nil || row.Trigger != "signed" || row.Fire == nil || row.Fire.Run != row.ID || row.Fire.Kind != plan.TriggerWebhook || row.Fire.By != "webhook from 192.0.2.7" {
		t.Errorf("row %+v %v", row, err)
	}
	if fires := firesOf(t, e, "site report", "signed"); len(fires) != 1 || fires[0].Run != row.ID || !fires[0].Slot.Equal(clock.now()) {
		t.Errorf("fires: %+v", fires)
	}
	if again := send(t, e, "signed", r); again == answer || !strings.HasPrefix(again, "202 ") {
		t.Errorf("without a dedupe key each request is an event: %s after %s", again, answer)
	}
}

func TestWhoDoesNotKnowTheSecretGetsNothing(t *testing.T) {
	e, clock := hooks(t)
	body := `{"site":"A"}`
	stamp := strconv.FormatInt(clock.now().Unix(), 10)
	with := func(change func(http.Header)) trigger.HookRequest {
		r := signedRequest(body)
		change(r.Header)
		return r
	}
	set := func(pairs ...string) trigger.HookRequest {
		return with(func(h http.Header) {
			h.Del("X-Signature")
			for i := 0; i+1 < len(pairs); i += 2 {
				h.Add(pairs[i], pairs[i+1])
			}
		})
	}
	right := signature("s3cret", body)
	timed := signature("s3cret", stamp+"."+body)
	for name, c := range map[string]struct {
		trigger string
		request trigger.HookRequest
		want    string
	}{
		"no signature":                       {"signed", set(), "401 the header X-Signature must hold the signature, once"},
		"two signatures":                     {"signed", set("X-Signature", "sha256="+right, "X-Signature", "sha256="+right), "401 the header X-Signature must hold the signature, once"},
		"no prefix":                          {"signed", set("X-Signature", right), `401 the header X-Signature must be "sha256=" and the HMAC-SHA256 in hex`},
		"another prefix":                     {"signed", set("X-Signature", "SHA256="+right), `401 the header X-Signature must be "sha256=" and the HMAC-SHA256 in hex`},
		"a cut signature":                    {"signed", set("X-Signature", "sha256="+right[:32]), `401 the header X-Signature must be "sha256=" and the HMAC-SHA256 in hex`},
		"no signature at all":                {"signed", set("X-Signature", "sha256="), `401 the header X-Signature must be "sha256=" and the HMAC-SHA256 in hex`},
		"of another key":                     {"signed", set("X-Signature", "sha256="+signature("s3cret ", body)), "401 the signature in X-Signature is not that of the body"},
		"of another body":                    {"signed", set("X-Signature", "sha256="+signature("s3cret", body+" ")), "401 the signature in X-Signature is not that of the body"},
		"the right one in capitals":          {"signed", set("X-Signature", "sha256="+strings.ToUpper(right)), "202"},
		"a time, and it is signed":           {"timed", set("X-Signature", timed, "X-Timestamp", stamp), "202"},
		"a time that is not signed":          {"timed", set("X-Signature", right, "X-Timestamp", stamp), "401 the signature in X-Signature is not that of the text of X-Timestamp, a dot and the body"},
		"no time":                            {"timed", set("X-Signature", timed), "401 the header X-Timestamp must hold the time, once"},
		"another time than the signed one":   {"timed", set("X-Signature", timed, "X-Timestamp", stamp[:9]+"9"), "401 the signature in X-Signature is not that of the text of X-Timestamp, a dot and the body"},
		"no time at all":                     {"timed", set("X-Signature", timed, "X-Timestamp", "soon"), "401 the header X-Timestamp must be a Unix time in seconds"},
		"a version before the time":          {"versioned", set("X-Signature", "v0="+signature("s3cret", "v0:"+stamp+":"+body), "X-Timestamp", stamp), "202"},
		"a dot, with a version":              {"versioned", set("X-Signature", "v0="+signature("s3cret", stamp+"."+body), "X-Timestamp", stamp), "202"},
		"another version":                    {"versioned", set("X-Signature", "v0="+signature("s3cret", "v1:"+stamp+":"+body), "X-Timestamp", stamp), "401 the signature in X-Signature is not that of the text of X-Timestamp, a dot and the body"},
		"a version where none is":            {"timed", set("X-Signature", signature("s3cret", "v0:"+stamp+":"+body), "X-Timestamp", stamp), "401 the signature in X-Signature is not that of the text of X-Timestamp, a dot and the body"},
		"no token":                           {"token", set(), "401 the token of the webhook is missing or wrong: send `Authorization: Bearer TOKEN`"},
		"an empty token":                     {"token", set("Authorization", "Bearer "), "401 the token of the webhook is missing or wrong: send `Authorization: Bearer TOKEN`"},
		"another scheme":                     {"token", set("Authorization", "Basic t0kent0ken"), "401 the token of the webhook is missing or wrong: send `Authorization: Bearer TOKEN`"},
		"a longer token":                     {"token", set("Authorization", "Bearer t0kent0ken1"), "401 the token of the webhook is missing or wrong: send `Authorization: Bearer TOKEN`"},
		"the token":                          {"token", set("Authorization", "bearer t0kent0ken"), "202"},
		"the token in its own header":        {"token", set("X-Webhook-Token", "t0kent0ken"), "202"},
		"two tokens":                         {"token", set("X-Webhook-Token", "t0kent0ken", "X-Webhook-Token", "t0kent0ken"), "401 the token of the webhook is missing or wrong: send `Authorization: Bearer TOKEN`"},
		"a secret that is not set":           {"unset", set("Authorization", "Bearer "), "503 the webhook is not set up: the log of the server says why"},
		"an empty secret, signed with it":    {"hollow", set("X-Signature", signature("", body)), "503 the webhook is not set up: the log of the server says why"},
		"a body that is larger than allowed": {"signed", signedRequest(`{"site":"` + strings.Repeat("x", trigger.MaxHookBody) + `"}`), "413 the body is larger than 1048576 bytes"},
	} {
		before := len(firesOf(t, e, "site report", c.trigger))
		got := send(t, e, c.trigger, c.request)
		if got != c.want && (c.want != "202" || !strings.HasPrefix(got, "202 ")) {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
		if after := len(firesOf(t, e, "site report", c.trigger)); c.want != "202" && after != before {
			t.Errorf("%s: an unknown sender leaves a row", name)
		}
	}
	for _, path := range [][2]string{{"site report", "nothing"}, {"nothing", "signed"}, {"", ""}} {
		var unknown *fault.UnknownError
		if _, err := e.Hook(t.Context(), path[0], path[1], signedRequest(body)); !errors.As(err, &unknown) || unknown.Hint.Text != "" {
			t.Errorf("%v: %v", path, err)
		}
	}
}

func TestTheTimeOfARequestMustBeNear(t *testing.T) {
	e, clock := hooks(t)
	for _, c := range []struct {
		off  time.Duration
		form func(time.Time) string
		ok   bool
	}{
		{0, seconds, true}, {-trigger.HookWindow, seconds, true}, {trigger.HookWindow, seconds, true}, {trigger.HookWindow + time.Second, seconds, false},
		{-trigger.HookWindow - time.Second, seconds, false}, {time.Minute, millis, true}, {-6 * time.Minute, millis, false},
		{time.Minute, rfc3339, true}, {10 * time.Minute, rfc3339, false}, {-400 * 24 * time.Hour, seconds, false}, {200 * 365 * 24 * time.Hour, seconds, false},
	} {
		stamp := c.form(clock.now().Add(c.off))
		r := trigger.HookRequest{Method: "POST", Header: http.Header{}, Body: []byte(`"x"`)}
		r.Header.Set("X-Timestamp", stamp)
		r.Header.Set("X-Signature", signature("s3cret", stamp+`."x"`))
		if got := send(t, e, "timed", r); strings.HasPrefix(got, "202 ") != c.ok {
			t.Errorf("%s as %s: %s", c.off, stamp, got)
		}
	}
}

func seconds(at time.Time) string { return strconv.FormatInt(at.Unix(), 10) }
func millis(at time.Time) string  { return strconv.FormatInt(at.UnixMilli(), 10) }
func rfc3339(at time.Time) string { return at.Format(time.RFC3339) }

func TestASignedTimeIsNotReplayed(t *testing.T) {
	e, clock := hooks(t)
	stamp := seconds(clock.now())
	r := trigger.HookRequest{Method: "POST", Header: http.Header{}, Body: []byte(`"x"`)}
	r.Header.Set("X-Timestamp", stamp)
	r.Header.Set("X-Signature", signature("s3cret", stamp+`."x"`))
	first := send(t, e, "timed", r)
	clock.move(trigger.HookWindow)
	r.Header.Set("X-Signature", strings.ToUpper(r.Header.Get("X-Signature")))
	if again := send(t, e, "timed", r); again != "200 "+first[4:] {
		t.Errorf("replayed in its time: %s after %s", again, first)
	}
	clock.move(time.Second)
	if again := send(t, e, "timed", r); !strings.HasPrefix(again, "401 ") {
		t.Errorf("replayed after its time: %s", again)
	}
}

func TestAnUnsignedKeyOpensNoReplay(t *testing.T) {
	dir, clock := hookProject(t)
	e := openTriggered(t, dir, clock, nil)
	defer func() { closeEngine(t, e) }()
	request := func(stamp, id string) trigger.HookRequest {
		r := trigger.HookRequest{Method: "POST", Header: http.Header{}, Body: []byte(`"x"`)}
		r.Header.Set("X-Timestamp", stamp)
		r.Header.Set("X-Signature", signature("s3cret", stamp+`."x"`))
		if id != "" {
			r.Header.Set("X-Event-Id", id)
		}
		return r
	}
	start := clock.now()
	for i, first := range []string{"", "e1"} {
		stamp := seconds(start.Add(time.Duration(i) * time.Second))
		run := send(t, e, "keyed", request(stamp, first))
		if !strings.HasPrefix(run, "202 ") {
			t.Fatalf("key %q: %s", first, run)
		}
		for _, other := range []string{"e2", "", first, "e3"} {
			if again := send(t, e, "keyed", request(stamp, other)); again != "200 "+run[4:] {
				t.Errorf("key %q, copied with %q: %s after %s", first, other, again, run)
			}
		}
	}
	// Many copies at once, each with a key of its own, are one run; also after a restart.
	answers := make([]string, 16)
	var all sync.WaitGroup
	stamp := seconds(start.Add(time.Minute))
	for i := range answers {
		all.Go(func() { answers[i] = send(t, e, "keyed", request(stamp, "m"+strconv.Itoa(i))) })
	}
	all.Wait()
	closeEngine(t, e)
	e = openTriggered(t, dir, clock, nil)
	answers = append(answers, send(t, e, "keyed", request(stamp, "after")))
	ids := map[string]bool{}
	for _, answer := range answers {
		ids[answer[4:]] = true
	}
	if len(ids) != 1 {
		t.Errorf("runs of one signature: %v", answers)
	}
	// The sender's own second try has another time, and the same key.
	if again := send(t, e, "keyed", request(seconds(start.Add(2*time.Minute)), "e1")); !strings.HasPrefix(again, "200 ") {
		t.Errorf("another signature, the same key: %s", again)
	}
	// Signatures whose time is over go with the next one that is stored.
	rows := func() int {
		keys, err := e.Store().KV().List(trigger.SignatureBucket, "")
		if err != nil {
			t.Fatal(err)
		}
		return len(keys)
	}
	if got := rows(); got != 4 {
		t.Errorf("%d signatures", got)
	}
	clock.move(3 * trigger.HookWindow)
	send(t, e, "keyed", request(seconds(clock.now()), "late"))
	if got := rows(); got != 1 {
		t.Errorf("%d signatures after %s", got, 3*trigger.HookWindow)
	}
}

func TestTheSameEventIsTheSameRunForADay(t *testing.T) {
	e, clock := hooks(t)
	event := func(body, id string) string { return send(t, e, "signed", signedRequest(body, "X-Event-Id", id)) }
	first := event(`{"site":"A"}`, "e1")
	if again := event(`{"site":"B"}`, "e1"); again != "200 "+first[4:] {
		t.Errorf("again: %s after %s", again, first)
	}
	if other := event(`{"site":"A"}`, "e2"); !strings.HasPrefix(other, "202 ") || other == first {
		t.Errorf("another event: %s", other)
	}
	clock.move(time.Hour) // past midnight, where the day of the key changes
	if again := event(`{"site":"A"}`, "e1"); again != "200 "+first[4:] {
		t.Errorf("after an hour: %s", again)
	}
	// The workflow changes so that the event would not be taken any more.
	writeFile(t, e.Project().Root(), "flow.yaml", strings.Replace(hookWorkflow, "site: {type: string, minLength: 1}", `site: {type: string, pattern: "^(x|.{5,})$"}`, 1))
	if again := event(`{"site":"A"}`, "e1"); again != "200 "+first[4:] {
		t.Errorf("after an edit: %s", again)
	}
	if other := event(`{"site":"A"}`, "e3"); !strings.HasPrefix(other, "422 ") {
		t.Errorf("a new event of a short name: %s", other)
	}
	clock.move(23*time.Hour + time.Minute)
	second := event(`{"site":"long enough"}`, "e1")
	if !strings.HasPrefix(second, "202 ") || second == first {
		t.Errorf("after a day: %s", second)
	}
	if again := event(`{"site":"long enough"}`, "e1"); again != "200 "+second[4:] {
		t.Errorf("again after a day: %s", again)
	}
	skipped := map[string]int{}
	for _, fire := range firesOf(t, e, "site report", "signed") {
		skipped[fire.Skipped]++
	}
	if skipped[""] != 3 || skipped[runs.SkipRepeated] != 4 || skipped[runs.SkipInvalid] != 1 {
		t.Errorf("rows: %v", skipped)
	}
}

func TestManyOfOneEventAreOneRun(t *testing.T) {
	e, _ := hooks(t)
	const senders = 16
	answers := make([]string, senders)
	var all sync.WaitGroup
	for i := range senders {
		all.Go(func() { answers[i] = send(t, e, "signed", signedRequest(`{"site":"A"}`, "X-Event-Id", "one")) })
	}
	all.Wait()
	fresh, ids := 0, map[string]bool{}
	for _, answer := range answers {
		if strings.HasPrefix(answer, "202 ") {
			fresh++
		}
		ids[answer[4:]] = true
	}
	if fresh != 1 || len(ids) != 1 {
		t.Errorf("%d runs for one event, %d answers 202: %v", len(ids), fresh, answers)
	}
	// The control: without a key each is a run of its own.
	ids = map[string]bool{}
	for range senders {
		ids[send(t, e, "signed", signedRequest(`{"site":"A"}`, "X-Event-Id", ""))] = true
	}
	if len(ids) != senders {
		t.Errorf("%d runs of %d events", len(ids), senders)
	}
}

func TestBodiesAreReadByTheirType(t *testing.T) {
	e, clock := hooks(t)
	for name, c := range map[string]struct{ trigger, media, body, want string }{
		"JSON":                          {"signed", "application/json; charset=utf-8", `{"site":"A"}`, "202"},
		"JSON of a type of its own":     {"signed", "application/vnd.x+json", `{"site":"A"}`, "202"},
		"JSON without a type":           {"signed", "", ` {"site":"A"}`, "202"},
		"JSON that a tool calls a form": {"signed", "application/x-www-form-urlencoded", `{"site":"A"}`, "202"},
		"a form":                        {"signed", "application/x-www-form-urlencoded", `site=A%20B&x=1`, "202"},
		"a broken form":                 {"signed", "application/x-www-form-urlencoded", `site=%zz`, "400"},
		"a form of bytes":               {"signed", "application/x-www-form-urlencoded", `site=%ff`, "400"},
		"no JSON":                       {"signed", "application/json", `{"site":"A"`, "400"},
		"two documents":                 {"signed", "application/json", `{"site":"A"}{}`, "400"},
		"no JSON and no type":           {"signed", "", `site: A`, "400"},
		"another type":                  {"signed", "application/xml", `<site/>`, "415"},
		"a type that is none":           {"signed", ";;", `{"site":"A"}`, "415"},
		"a wrong type of a field":       {"signed", "application/json", `{"site":7}`, "422"},
		"a field that lacks":            {"signed", "application/json", `{}`, "422"},
		"no object":                     {"signed", "application/json", `[]`, "422"},
		"nothing":                       {"signed", "application/json", ``, "422"},
		"an input that is refused":      {"signed", "application/json", `{"site":""}`, "422"},
		"a field that is not allowed":   {"token", "application/json", `{"site":"A","extra":1}`, "422"},
		"all that is allowed":           {"token", "application/json", `{"site":"A"}`, "202"},
	} {
		r := signedRequest(c.body, "Content-Type", c.media, "X-Webhook-Token", "t0kent0ken")
		if c.media == "" {
			r.Header.Del("Content-Type")
		}
		if got := send(t, e, c.trigger, r); !strings.HasPrefix(got, c.want+" ") {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
	stamp := seconds(clock.now())
	r := trigger.HookRequest{Method: "POST", Header: http.Header{"Content-Type": {"text/plain"}, "X-Timestamp": {stamp}}, Body: []byte("grüße")}
	r.Header.Set("X-Signature", signature("s3cret", stamp+".grüße"))
	if got := runOutputs(t, e, send(t, e, "timed", r)); got["site"] != `"grüße"` {
		t.Errorf("plain text: %v", got)
	}
}

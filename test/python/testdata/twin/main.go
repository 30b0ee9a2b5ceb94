// Command twin is the Go half of the twins: ../twin.py is the other one. Both must
// behave alike.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"context"

	"github.com/flowrun/flowrun/sdk"
)

type config struct {
	sdk.HTTPSettings
	sdk.TokenSettings
	APIKey string `json:"api_key,omitempty" doc:"Key of the service" secret:"true"`
	Region string `json:"region" doc:"Where" enum:"eu,us" default:"eu"`
}

type inner struct {
	Name  string `json:"name" min:"1"`
	Value *int   `json:"value,omitempty"`
}

type echoIn struct {
	Text     string            `json:"text" doc:"A <text> & more" min:"1" max:"8" pattern:"^[A-Za-zü]+$" example:"Bonn"`
	Kind     string            `json:"kind" doc:"Which" enum:"A,AAAA,MX" default:"A"`
	Level    *int              `json:"level,omitempty" enum:"1,2,3"`
	Limit    int64             `json:"limit" min:"1" max:"9007199254740993" default:"100"`
	Ratio    *float64          `json:"ratio,omitempty" min:"0" max:"1.5"`
	Active   bool              `json:"active" default:"true"`
	Since    *time.Time        `json:"since,omitempty"`
	Day      string            `json:"day,omitempty" format:"date"`
	Site     string            `json:"site,omitempty" format:"uri"`
	Address  string            `json:"address,omitempty" format:"ipv4"`
	ID       string            `json:"id,omitempty" format:"uuid"`
	Every    string            `json:"every,omitempty" format:"duration"`
	Tags     []string          `json:"tags,omitempty" enum:"red,green" min:"1" max:"3"`
	Data     []byte            `json:"data,omitempty"`
	Body     sdk.Value         `json:"body,omitempty"`
	Texts    map[string]string `json:"texts,omitempty"`
	Inner    *inner            `json:"inner,omitempty"`
	Inners   []inner           `json:"inners,omitempty"`
	Password string            `json:"password,omitempty" secret:"true" min:"8"`
	From     string            `json:"from,omitempty"`
}

type echoOut struct {
	Text     string            `json:"text"`
	Kind     string            `json:"kind"`
	Limit    int64             `json:"limit"`
	Level    *int              `json:"level"`
	Ratio    *float64          `json:"ratio"`
	Active   bool              `json:"active"`
	Tags     []string          `json:"tags"`
	Texts    map[string]string `json:"texts"`
	Body     sdk.Value         `json:"body"`
	Inner    *inner            `json:"inner"`
	Inners   []inner           `json:"inners"`
	Password string            `json:"password,omitempty" secret:"true"`
}

type fetchIn struct {
	Path    string  `json:"path"`
	Query   *string `json:"query,omitempty"`
	MaxBody int64   `json:"max_body" default:"0"`
}

type valueOut struct {
	Value sdk.Value `json:"value"`
}

type record struct {
	ID     int64     `json:"id"`
	Name   string    `json:"name"`
	Labels *[]string `json:"labels"`
}

type howIn struct {
	How  string `json:"how"`
	Text string `json:"text" default:""`
}

type textOut struct {
	Text string `json:"text"`
}

type listIn struct {
	By     string  `json:"by" enum:"cursor,number,index,link"`
	Cursor *string `json:"cursor,omitempty"`
}

type spanIn struct {
	Start string `json:"start"`
	End   string `json:"end"`
}

func echo(_ *sdk.Call[config], i echoIn) (echoOut, error) {
	if i.Body == nil {
		i.Body = sdk.Value("null")
	}
	return echoOut{i.Text, i.Kind, i.Limit, i.Level, i.Ratio, i.Active, i.Tags, i.Texts, i.Body, i.Inner, i.Inners, i.Password}, nil
}

// node is a schema of references, as generators write it.
var node = json.RawMessage(`{"$ref":"#/$defs/node","$defs":{"node":{"type":"object","required":["name"],"additionalProperties":false,"properties":{"name":{"$ref":"#/$defs/name"},"size":{"$ref":"#/$defs/a~1b","default":7},"next":{"$ref":"#/$defs/node"},"all":{"type":"array","items":{"$ref":"#/$defs/name"}}}},"name":{"type":"string","maxLength":3},"a/b":{"type":"integer"}}}`)

func graph(_ *sdk.Call[config], i map[string]any) (map[string]any, error) { return i, nil }

func texts(i echoIn, unknown []string) []sdk.Problem {
	if sdk.IsUnknown(unknown, "/text") || i.Text != "same" {
		return nil
	}
	return []sdk.Problem{sdk.Problemf("/text", "must not be `same`").WithDetail("take another"), sdk.Warningf("/kind", "is odd")}
}

func narrowed(i echoIn, unknown []string) json.RawMessage {
	if sdk.IsUnknown(unknown, "/kind") || i.Kind != "MX" {
		return nil
	}
	return json.RawMessage(`{"type":"object","properties":{"kind":{"const":"MX"}}}`)
}

func value(r *sdk.Response, err error) (valueOut, error) {
	if err != nil {
		return valueOut{}, err
	}
	document, err := r.Document()
	return valueOut{document}, err
}

func fetch(c *sdk.Call[config], i fetchIn) (valueOut, error) {
	query := url.Values{}
	sdk.SetText(query, "api_key", i.Query)
	return value(c.HTTP().WithHeader("X-Api-Key", c.Config.APIKey).Do(&sdk.Request{Path: i.Path, Query: query, MaxBody: i.MaxBody}))
}

func readRecord(c *sdk.Call[config], i fetchIn) (out record, err error) {
	return out, c.HTTP().GetJSON(i.Path, nil, &out)
}

func send(c *sdk.Call[config], i fetchIn) (valueOut, error) {
	c.Log().Info("sending", "where", i.Path)
	r, err := c.HTTP().WithBearer(c.Config.APIKey).Post(i.Path, map[string]int{"a": 1})
	if err != nil {
		return valueOut{}, err
	}
	document, err := r.DocumentOrNull()
	return valueOut{document}, err
}

func elsewhere(c *sdk.Call[config], i howIn) (valueOut, error) {
	client := c.HTTP().WithBearer(c.Config.APIKey)
	switch i.How {
	case "client":
		return value(client.Do(&sdk.Request{URL: i.Text}))
	case "header":
		return value(client.Do(&sdk.Request{URL: i.Text, Header: http.Header{"X-Mine": {c.Config.APIKey}}}))
	}
	return value(client.Do(&sdk.Request{URL: i.Text, Query: url.Values{"t": {"secret-in-query"}}, SecretQuery: []string{"t"}}))
}

func pay(*sdk.Call[config], howIn) (textOut, error) {
	return textOut{}, sdk.Errorf(sdk.CodeUnavailable, "the answer was lost")
}

func paid(c *sdk.Call[config], i howIn) (sdk.Reconciled[textOut], error) {
	switch i.How {
	case "fault":
		panic("a bug")
	case "done":
		return sdk.Reconciled[textOut]{Applied: sdk.AppliedFully, Output: &textOut{c.Run.IdempotencyKey}, Note: "found it"}, nil
	}
	return sdk.Reconciled[textOut]{Applied: sdk.NotApplied}, nil
}

func regional(_ *sdk.Call[config], i echoIn) (valueOut, error) {
	return valueOut{sdk.Text(i.Kind)}, nil
}

func inRegion(c config, i echoIn, unknown []string) []sdk.Problem {
	if sdk.IsUnknown(unknown, "/kind") || c.Region != "us" || i.Kind != "MX" {
		return nil
	}
	return []sdk.Problem{sdk.Problemf("/kind", "is not for `us`").WithDetail("take another"), sdk.Warningf("/text", "is odd")}
}

func ofRegion(c config, _ echoIn, _ []string) json.RawMessage {
	if c.Region != "us" || c.APIKey != "" {
		return nil
	}
	return json.RawMessage(`{"type":"object","properties":{"value":{"type":"string"}},"required":["value"]}`)
}

func toldApart(i listIn, unknown []string) string {
	if !sdk.IsUnknown(unknown, "/cursor") && i.Cursor != nil && *i.Cursor == "repeating" {
		return sdk.ItemsRepeat
	}
	return ""
}

func things(c *sdk.Call[config], i listIn) (sdk.Page, error) {
	shape := sdk.PageShape{}
	request := &sdk.Request{Path: "/" + i.By, Query: url.Values{}}
	switch i.By {
	case "link":
		if at := c.PageAt(i.Cursor); at != "" {
			request = &sdk.Request{URL: at}
		}
		shape.Next = sdk.ByLink("")
	case "cursor":
		if at := c.PageAt(i.Cursor); at != "" {
			request.Query.Set("cursor", at)
		}
		shape.Next, shape.ListInput = sdk.ByCursor("next"), "/items_field"
	default:
		from := int64(0)
		if i.By == "number" {
			from = 1
		}
		at, err := c.PageNumber(nil, from, "/cursor")
		if err != nil {
			return sdk.Page{}, err
		}
		sdk.SetInteger(request.Query, "at", at)
		shape.Next = sdk.ByIndex{Asked: at, Start: "start", Total: "total"}
		if i.By == "number" {
			shape.Next = sdk.ByNumber{At: at, From: 1, Size: 2}
		}
	}
	r, err := c.HTTP().Do(request)
	if err != nil {
		return sdk.Page{}, c.CursorRefused(err)
	}
	return c.ReadPage(r, shape)
}

func wait(c *sdk.Call[config], _ howIn) (textOut, error) {
	if point := c.Checkpoint(); len(point) > 0 {
		c.SetWatermark([]byte("mark"))
		return textOut{string(point)}, nil
	}
	who := c.Config.APIKey
	if who == "" {
		who = "nobody"
	}
	return textOut{}, sdk.Pending{RetryAfter: 1500 * time.Millisecond, Checkpoint: []byte("point"), Message: "waiting for " + who, Prompt: &sdk.Prompt{
		Title: "Log in", URL: "https://example.com/device", UserCode: "ABCD", ExpiresAt: time.Date(2026, 1, 31, 9, 0, 0, 0, time.UTC), Message: "please",
	}}
}

func remember(c *sdk.Call[config], _ sdk.NoInput) (textOut, error) {
	held, err := c.State().Get("n")
	if err != nil {
		return textOut{}, err
	}
	count, _ := strconv.Atoi(string(held.Value))
	count++
	version, err := c.State().Put("n", []byte(strconv.Itoa(count)), held.Version, time.Minute)
	if err != nil {
		return textOut{}, err
	}
	if _, err := c.State().Put("n", []byte("9"), held.Version, 0); !errors.Is(err, sdk.ErrStateChanged) {
		return textOut{"an old version was taken"}, err
	}
	run, err := c.State().OfRun().Get("n")
	if err != nil {
		return textOut{}, err
	}
	shared, err := c.State().OfPlugin().Get("n")
	return textOut{fmt.Sprintf("%d %d %d %d", count, version, run.Version, shared.Version)}, err
}

func grant(c *sdk.Call[config], i howIn) (textOut, error) {
	token, err := c.Token(sdk.TokenRequest{MinTTL: 30 * time.Second, Reject: i.How, Refresh: func(context.Context, *sdk.Token) (*sdk.Token, error) {
		switch i.Text {
		case "gone":
			return nil, sdk.AuthRequired("the grant is gone")
		case "bug":
			panic("a bug")
		}
		return &sdk.Token{AccessToken: "fresh-token-123", ExpiresAt: time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)}, nil
	}})
	if err != nil {
		return textOut{}, err
	}
	c.Log().Info("got " + token.AccessToken)
	return textOut{fmt.Sprintf("%s %d %s", token.ID, len(token.AccessToken), token.RefreshToken)}, nil
}

func oauth(c *sdk.Call[config], in howIn) (out textOut, err error) {
	secret, address := c.Config.APIKey, in.Text
	grant := map[string]sdk.Grant{
		"basic":  sdk.ClientCredentials{TokenURL: address, ClientID: "me:you", ClientSecret: secret, Scopes: []string{"read", "write"}},
		"body":   sdk.ClientCredentials{TokenURL: address, ClientID: "me:you", ClientSecret: secret, InBody: true, Params: url.Values{"audience": {"a b"}}},
		"public": sdk.RefreshToken{TokenURL: address, ClientID: "me:you", RefreshToken: "first-refresh"},
		"renew":  sdk.RefreshToken{TokenURL: address, ClientID: "me:you", ClientSecret: secret, RefreshToken: "first-refresh", Scopes: []string{"read"}},
		"login":  sdk.RefreshToken{TokenURL: address, ClientID: "me:you", ClientSecret: secret},
	}[in.How]
	response, err := c.HTTP().WithHeader("X-Own", "mine").WithGrant(grant).PostForm("/form", url.Values{"a": {"1 2", "3"}, "b": {"4"}})
	if err != nil {
		return out, err
	}
	document, err := response.Document()
	return textOut{Text: string(document)}, err
}

func fail(c *sdk.Call[config], i howIn) (textOut, error) {
	key := c.Config.APIKey
	switch i.How {
	case "bug":
		panic("a bug with " + key)
	case "exit":
		panic("exit")
	case "limit":
		return textOut{}, sdk.RateLimited(7*time.Second, "slow down").WithHint("wait").WithReason("slow_down")
	case "details":
		return textOut{}, &sdk.Error{Code: sdk.CodeDenied, Message: "no " + key, Details: map[string]any{"who": key, "url": sdk.Pointer("a/b", 3)}, Applied: sdk.AppliedPartly}
	case "large":
		return textOut{strings.Repeat("x", 9<<20)}, nil
	case "hang", "sleep":
		<-c.Done()
		return textOut{}, c.Err()
	case "path":
		path, err := sdk.Path("a b/c", i.Text)
		return textOut{path}, err
	case "print":
		fmt.Fprintln(os.Stdout, "printed")
	}
	for n := range 3 {
		c.Log().Warn(fmt.Sprintf("line %d %s", n, key), "key", key, "n", n)
	}
	c.Progress(0.5, "half of "+key)
	c.Meta("asked", i.How)
	return textOut{fmt.Sprintf("%s %s %s %d %s %s", c.Run.Workflow, c.Run.RunID, c.Run.Step, c.Run.Attempt, c.Run.IdempotencyKey, c.ConnectionName())}, nil
}

func span(_ *sdk.Call[config], i spanIn) (textOut, error) { return textOut{i.Start}, nil }

func check(c *sdk.Call[config]) (string, error) {
	if c.Config.Region == "us" {
		c.NotTried("no request is harmless")
		return "", nil
	}
	var me struct{ Name string }
	err := c.HTTP().GetJSON("/me", nil, &me)
	return me.Name, err
}

func configs(c config) []sdk.Problem {
	if !strings.Contains(c.BaseURL, "nowhere") {
		return nil
	}
	return []sdk.Problem{sdk.Problemf("/region", "has no %s", c.BaseURL)}
}

func main() {
	sdk.New("twin", "1.2.3", "One half of the twins",
		sdk.BaseURL("https://api.example.com/"), sdk.Hosts("cdn.example.com"), sdk.Env("TWIN_DEBUG"), sdk.UsesState(),
		sdk.Limit("all", 10, time.Second, sdk.FixedWindow(), sdk.Scope("base_url", "region")), sdk.Limit("open", 0, 0, sdk.MaxConcurrent(4)),
		sdk.TokenAction("grant"), sdk.Simulator("twin-sim", "--quiet"), sdk.Delivery{Action: "pay", Content: "text", Title: "how"},
		sdk.Read("echo", "Give the input back", echo, sdk.Limits("all"), sdk.Timeout(time.Minute),
			sdk.Example("Bonn", map[string]any{"text": "Bonn", "limit": 5}, nil), sdk.ValidateWith(texts), sdk.NarrowWith(narrowed)),
		sdk.Read("graph", "Give a node back", graph, sdk.Input(node), sdk.Output(node)),
		sdk.Read("regional", "Give the kind back, as the connection's region takes it", regional, sdk.ValidateOn(inRegion), sdk.NarrowOn(ofRegion)),
		sdk.Read("fetch", "Read a path", fetch, sdk.Fault(sdk.CodeNotFound, "gone", "There is none"), sdk.Deprecated("use fetch2")),
		sdk.Read("record", "Read a record", readRecord),
		sdk.Keyed("send", "Send a document", send),
		sdk.Read("elsewhere", "Read another origin", elsewhere),
		sdk.Once("pay", "Pay once", pay, sdk.ReconcileWith(paid)),
		sdk.Read("list", "All things", things, sdk.Paged("cursor", "items", "next_cursor"), sdk.ItemsNamedBy("id"), sdk.NarrowItems(toldApart)),
		sdk.Idempotent("wait", "Wait for a person", wait, sdk.Incremental()),
		sdk.Read("remember", "Count in the state", remember),
		sdk.Read("grant", "Give a token", grant),
		sdk.Keyed("oauth", "Send a form with a token of a grant", oauth),
		sdk.Read("fail", "Fail in a way", fail),
		sdk.Read("span", "A range", span, sdk.RangeMax("start", "end", 48*time.Hour)),
		sdk.CheckConnection(check), sdk.ValidateConfig(configs),
	).Serve()
}

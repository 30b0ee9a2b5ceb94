package sdk_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/flowrun/flowrun/sdk"
)

type Config struct {
	sdk.HTTPSettings
	Token string `json:"token" doc:"API token" secret:"true"`
}

type WordIn struct {
	Word string `json:"word" doc:"Word to look up" min:"1" example:"ship"`
}

type WordOut struct {
	Word     string   `json:"word"`
	Meanings []string `json:"meanings"`
}

// word reads one entry. The client classifies failures by itself.
func word(c *sdk.Call[Config], in WordIn) (out WordOut, err error) {
	path, err := sdk.Path("api", "word", in.Word)
	if err != nil {
		return out, err
	}
	err = c.HTTP().WithBearer(c.Config.Token).GetJSON(path, nil, &out)
	return out, err
}

func ExampleNew() {
	plugin := sdk.New("words", "1.0.0", "A dictionary",
		sdk.BaseURL("https://words.example.com"),
		sdk.Limit("per_minute", 60, time.Minute, sdk.FixedWindow()),
		sdk.Read("word", "Look up a word", word,
			sdk.Limits("per_minute"),
			sdk.Timeout(20*time.Second),
			sdk.Fault(sdk.CodeNotFound, "", "There is no such word"),
			sdk.Example("a ship", WordIn{Word: "ship"}, WordOut{Word: "ship", Meanings: []string{"a large boat"}})),
	)
	fmt.Println(plugin.Name(), plugin.Version(), plugin.Err())
	// In main: plugin.Serve()

	// Output: words 1.0.0 <nil>
}

func ExamplePlugin_Err() {
	plugin := sdk.New("words", "1.0.0", "A dictionary", sdk.Read("word", "Look up a word", word, sdk.Limits("per_minute")))
	fmt.Println(plugin.Err())
	// Output: action word: limiter "per_minute" is not declared
}

func ExampleOnce() {
	type In struct {
		Body sdk.Value `json:"body" doc:"Sent as it is"`
	}
	invite := func(c *sdk.Call[Config], in In) (sdk.Value, error) {
		response, err := c.HTTP().Post("/api/invite", in.Body)
		if err != nil {
			return nil, err
		}
		return response.Body, nil
	}
	fmt.Println(sdk.New("teams", "1.0.0", "Teams", sdk.Once("invite", "Invite somebody", invite)).Err())
	// Output: <nil>
}

func ExampleIdempotent() {
	type In struct {
		Code string `json:"code" secret:"true"`
	}
	accept := func(c *sdk.Call[Config], in In) (sdk.Value, error) {
		path, err := sdk.Path("invitations", in.Code, "accept")
		if err != nil {
			return nil, err
		}
		response, err := c.HTTP().Do(&sdk.Request{Method: "PUT", Path: path})
		if err != nil {
			return nil, err
		}
		return response.Body, nil
	}
	fmt.Println(sdk.New("teams", "1.0.0", "Teams", sdk.Idempotent("accept", "Accept an invitation", accept)).Err())
	// Output: <nil>
}

// The HTTP client sends the idempotency key with every write of a keyed action.
func ExampleKeyed() {
	type In struct {
		Cents int64 `json:"cents" min:"1"`
	}
	pay := func(c *sdk.Call[Config], in In) (sdk.Value, error) {
		c.Log().Info("paying", "cents", in.Cents, "attempt", c.Run.Attempt)
		response, err := c.HTTP().Post("/payments", in)
		if err != nil {
			return nil, err
		}
		return response.Body, nil
	}
	fmt.Println(sdk.New("bank", "1.0.0", "Payments", sdk.Keyed("pay", "Pay", pay)).Err())
	// Output: <nil>
}

// One call is one page; the engine asks for the next. ReadPage finds the items
// and the next cursor, and the engine finds items that a later page gives again.
func ExampleCall_ReadPage() {
	type In struct {
		Cursor *string `json:"cursor,omitempty" doc:"next_cursor of a page before"`
		Limit  *int64  `json:"limit,omitempty" min:"1" max:"100"`
	}
	list := func(c *sdk.Call[Config], in In) (sdk.Page, error) {
		query := url.Values{}
		sdk.SetInteger(query, "limit", in.Limit)
		if cursor := c.PageAt(in.Cursor); cursor != "" {
			query.Set("cursor", cursor)
		}
		response, err := c.HTTP().Get("/items", query)
		if err != nil {
			return sdk.Page{}, c.CursorRefused(err)
		}
		return c.ReadPage(response, sdk.PageShape{List: "items", Next: sdk.ByCursor("next_cursor")})
	}
	fmt.Println(sdk.New("items", "1.0.0", "Items",
		sdk.Read("list", "List", list, sdk.Paged("cursor", "items", "next_cursor"), sdk.ItemsNamedBy("id"))).Err())
	// Output: <nil>
}

// A service that links its pages: the cursor is the link, of the same origin.
func ExampleByLink() {
	type In struct {
		Page *string `json:"page,omitempty" doc:"next_cursor of a page before"`
	}
	_ = func(c *sdk.Call[Config], in In) (sdk.Page, error) {
		request := &sdk.Request{Path: "/items", URL: c.PageAt(in.Page)}
		response, err := c.HTTP().Do(request)
		if err != nil {
			return sdk.Page{}, err
		}
		return c.ReadPage(response, sdk.PageShape{Next: sdk.ByLink("")})
	}
}

// What an action says of itself so that the engine can read all its pages.
func ExamplePaged() {
	type In struct {
		Page *int64 `json:"page,omitempty" min:"1"`
	}
	list := func(c *sdk.Call[Config], in In) (sdk.Page, error) {
		page, err := c.PageNumber(in.Page, 1, "/page")
		if err != nil {
			return sdk.Page{}, err
		}
		query := url.Values{}
		sdk.SetInteger(query, "page", page)
		response, err := c.HTTP().Get("/values", query)
		if err != nil {
			return sdk.Page{}, err
		}
		return c.ReadPage(response, sdk.PageShape{Next: sdk.ByNumber{At: page, From: 1, Size: 20}})
	}
	fmt.Println(sdk.New("meter", "1.0.0", "Measured values",
		sdk.Read("values", "Values", list, sdk.Paged("page", "items", "next_cursor"), sdk.ItemsMayRepeat())).Err())
	// Output: <nil>
}

func ExampleValidateWith() {
	type In struct {
		From time.Time `json:"from"`
		To   time.Time `json:"to"`
	}
	read := func(*sdk.Call[Config], In) (sdk.Value, error) { return nil, nil }
	check := func(in In, unknown []string) []sdk.Problem {
		if len(unknown) == 0 && !in.From.Before(in.To) {
			return []sdk.Problem{sdk.Problemf("/to", "must be after `from`")}
		}
		return nil
	}
	fmt.Println(sdk.New("stats", "1.0.0", "Statistics", sdk.Read("read", "Read", read, sdk.ValidateWith(check))).Err())
	// Output: <nil>
}

func ExampleInvalid() {
	err := sdk.Invalid("/domain", "must not end with a dot").WithHint("write example.com")
	fmt.Println(err, err.Pointer, err.Applied)
	// Output: invalid: must not end with a dot /domain not_applied
}

func ExampleErrorf() {
	var err error = sdk.Errorf(sdk.CodeQuotaExhausted, "the plan has no calls left").WithReason("quota")
	var typed *sdk.Error
	fmt.Println(errors.As(err, &typed), typed.Code, typed.Reason)
	// Output: true quota_exhausted quota
}

// A service that says in the body what happened, whatever the status is.
func ExampleHTTPClient_WithClassifier() {
	classify := func(r *sdk.Response) error {
		var envelope struct {
			Code    int    `json:"code"`
			Message string `json:"message"`
		}
		if json.Unmarshal(r.Body, &envelope) != nil || envelope.Code == 200 {
			return nil // go on with the HTTP status
		}
		return r.Fail(sdk.CodeOfStatus(envelope.Code), "%s", envelope.Message)
	}
	_ = func(c *sdk.Call[Config]) error {
		var out WordOut
		return c.HTTP().WithPath("/api").WithClassifier(classify).GetJSON("/word/ship", nil, &out)
	}
}

// Not done yet: the engine stores this and calls again with the checkpoint.
func ExamplePending() {
	_ = func(c *sdk.Call[Config], in WordIn) (out WordOut, err error) {
		if c.Checkpoint() == nil {
			return out, sdk.Pending{RetryAfter: 5 * time.Second, Checkpoint: []byte("job-1"), Message: "the job runs"}
		}
		err = c.HTTP().GetJSON("/jobs/"+string(c.Checkpoint()), nil, &out)
		return out, err
	}
}

func ExampleCall_Token() {
	_ = func(c *sdk.Call[Config]) (*sdk.HTTPClient, error) {
		token, err := c.Token(sdk.TokenRequest{MinTTL: time.Minute, Refresh: func(ctx context.Context, stale *sdk.Token) (*sdk.Token, error) {
			if stale == nil {
				return nil, sdk.AuthRequired("log in first")
			}
			response, err := c.HTTP().WithContext(ctx).Do(&sdk.Request{Method: "POST", Path: "/token", JSON: map[string]string{"refresh_token": stale.RefreshToken}, Close: true})
			if err != nil {
				return nil, err
			}
			var fresh struct {
				Access    string `json:"access_token"`
				Refresh   string `json:"refresh_token"`
				ExpiresIn int    `json:"expires_in"`
			}
			if err := response.JSON(&fresh); err != nil {
				return nil, err
			}
			return &sdk.Token{AccessToken: fresh.Access, RefreshToken: fresh.Refresh, ExpiresAt: time.Now().Add(time.Duration(fresh.ExpiresIn) * time.Second)}, nil
		}})
		if err != nil {
			return nil, err
		}
		return c.HTTP().WithBearer(token.AccessToken), nil
	}
}

func ExampleCall_State() {
	_ = func(c *sdk.Call[Config]) error {
		entry, err := c.State().Get("count")
		if err != nil {
			return err
		}
		_, err = c.State().Put("count", append(entry.Value, '.'), entry.Version, 0)
		if errors.Is(err, sdk.ErrStateChanged) {
			return sdk.Errorf(sdk.CodeConflict, "another call counted first")
		}
		return err
	}
}

func ExamplePathEscape() {
	segment, _ := sdk.PathEscape("a/b c")
	_, err := sdk.PathEscape("..")
	fmt.Println(segment, err)
	// Output: a%2Fb%20c invalid: must not be ".."
}

func ExampleCheckBaseURL() {
	base, _ := sdk.CheckBaseURL("https://api.example.com/")
	_, err := sdk.CheckBaseURL("https://api.example.com/?key=1")
	fmt.Println(base, "|", err)
	// Output: https://api.example.com | must not have a query
}

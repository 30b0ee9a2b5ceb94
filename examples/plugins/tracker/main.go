// Command flowrun-plugin-tracker wraps an issue tracker: lists by link and by number, a
// range that the service bounds, an export that takes its time, and a cache in the
// host's state.
package main

import (
	"encoding/json"
	"net/url"
	"time"

	"github.com/flowrun/flowrun/sdk"
)

type config struct {
	sdk.HTTPSettings
	sdk.TokenSettings
}

// service is the HTTP client with the token of the config, or of the connection that it
// names.
func service(c *sdk.Call[config]) (*sdk.HTTPClient, error) {
	token, err := c.AccessToken(c.Config.TokenSettings)
	return c.HTTP().WithBearer(token), err
}

type listIn struct {
	Cursor *string `json:"cursor,omitempty" doc:"Page to begin with"`
}

func list(c *sdk.Call[config], in listIn) (sdk.Page, error) {
	http, err := service(c)
	if err != nil {
		return sdk.Page{}, err
	}
	request := &sdk.Request{Path: "/issues"}
	if link := c.PageAt(in.Cursor); link != "" {
		request = &sdk.Request{URL: link}
	}
	response, err := http.Do(request)
	if err != nil {
		return sdk.Page{}, c.CursorRefused(err)
	}
	return c.ReadPage(response, sdk.PageShape{Next: sdk.ByLink("")})
}

type searchIn struct {
	Text string `json:"text" min:"1"`
	Page *int64 `json:"page,omitempty" min:"1"`
}

func search(c *sdk.Call[config], in searchIn) (sdk.Page, error) {
	http, err := service(c)
	if err != nil {
		return sdk.Page{}, err
	}
	at, err := c.PageNumber(in.Page, 1, "/page")
	if err != nil {
		return sdk.Page{}, err
	}
	query := url.Values{"q": {in.Text}, "per_page": {"50"}}
	sdk.SetInteger(query, "page", at)
	response, err := http.Get("/search", query)
	if err != nil {
		return sdk.Page{}, err
	}
	return c.ReadPage(response, sdk.PageShape{List: "hits", Next: sdk.ByNumber{At: at, From: 1, Size: 50}})
}

type hoursIn struct {
	From time.Time `json:"from"`
	To   time.Time `json:"to"`
}

type hoursOut struct {
	Hours []sdk.Value `json:"hours"`
}

func hours(c *sdk.Call[config], in hoursIn) (out hoursOut, err error) {
	http, err := service(c)
	if err != nil {
		return out, err
	}
	query := url.Values{"from": {in.From.Format(time.RFC3339)}, "to": {in.To.Format(time.RFC3339)}}
	return out, http.GetJSON("/hours", query, &out)
}

type exportIn struct {
	Format string `json:"format" enum:"csv,json" default:"csv"`
}

type exportOut struct {
	URL string `json:"url" format:"uri"`
}

type exportJob struct {
	ID  string `json:"id"`
	URL string `json:"url,omitempty"`
}

func export(c *sdk.Call[config], in exportIn) (out exportOut, err error) {
	http, err := service(c)
	if err != nil {
		return out, err
	}
	var job exportJob
	if id := string(c.Checkpoint()); id != "" {
		path, err := sdk.Path("exports", id)
		if err != nil {
			return out, err
		}
		err = http.GetJSON(path, nil, &job)
		if err != nil {
			return out, err
		}
	} else if err := create(http, in, &job); err != nil {
		return out, err
	}
	if job.URL == "" {
		return out, sdk.Pending{RetryAfter: 2 * time.Second, Checkpoint: []byte(job.ID), Message: "the export is being written"}
	}
	return exportOut{job.URL}, nil
}

func create(http *sdk.HTTPClient, in exportIn, job *exportJob) error {
	response, err := http.Post("/exports", in)
	if err != nil {
		return err
	}
	return response.JSON(job)
}

type labelsOut struct {
	Labels []string `json:"labels"`
}

func labels(c *sdk.Call[config], _ sdk.NoInput) (out labelsOut, err error) {
	held, err := c.State().Get("labels")
	if err != nil || held.Version > 0 {
		_ = json.Unmarshal(held.Value, &out)
		return out, err
	}
	http, err := service(c)
	if err != nil {
		return out, err
	}
	if err := http.GetJSON("/labels", nil, &out); err != nil {
		return out, err
	}
	kept, err := json.Marshal(out)
	if err != nil {
		return out, err
	}
	if _, err := c.State().Put("labels", kept, held.Version, time.Hour); err != nil {
		c.Log().Debug("not kept", "error", err) // another call was first
	}
	return out, nil
}

func main() {
	sdk.New("tracker", "1.0.0", "An issue tracker",
		sdk.Limit("api", 100, time.Minute), sdk.UsesState(),
		sdk.CheckConnection(func(c *sdk.Call[config]) (string, error) {
			http, err := service(c)
			if err != nil {
				return "", err
			}
			var me struct {
				Login string `json:"login"`
			}
			return me.Login, http.GetJSON("/me", nil, &me)
		}),
		sdk.Read("list", "All issues", list, sdk.Paged("cursor", "items", "next_cursor"), sdk.ItemsNamedBy("id"), sdk.Limits("api")),
		sdk.Read("search", "Find issues", search, sdk.Paged("page", "items", "next_cursor"), sdk.ItemsNamedBy("id"), sdk.Limits("api")),
		sdk.Read("hours", "Hours that were worked", hours, sdk.RangeMax("from", "to", 7*24*time.Hour), sdk.Limits("api")),
		sdk.Idempotent("export", "Write an export", export, sdk.Limits("api")),
		sdk.Read("labels", "Labels, at most an hour old", labels, sdk.Limits("api")),
	).Serve()
}

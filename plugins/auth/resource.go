package auth

import (
	"encoding/json"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/flowrun/flowrun/sdk"
)

// ResourceInput is the input of resource_get.
type ResourceInput struct {
	URL     string            `json:"url" min:"1" doc:"Absolute URL; its host must be in allow_hosts." example:"https://api.example.com/me"`
	TokenIn string            `json:"token_in" enum:"header,query" default:"header" doc:"Where the access token goes: the header Authorization, or the parameter access_token."`
	Headers map[string]string `json:"headers,omitempty" doc:"Further headers; not Authorization, Cookie or Host."`
}

// ResourceOutput is the output of resource_get.
type ResourceOutput struct {
	Status  int64             `json:"status"`
	Headers map[string]string `json:"headers" doc:"Names in lower case; cookies are left out."`
	Body    sdk.Value         `json:"body" doc:"JSON as it came, or text; null when there is none."`
}

// ownHeaders are names that resource_get does not take: those that carry
// credentials, and those that belong to the connection.
var ownHeaders = []string{
	"authorization", "proxy-authorization", "cookie", "host",
	"connection", "content-length", "expect", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade",
}

func resourceProblems(in ResourceInput, unknown []string) []sdk.Problem {
	var problems []sdk.Problem
	if !sdk.IsUnknown(unknown, "/url") {
		if problem := resourceURLProblem(in.URL); problem != "" {
			problems = append(problems, sdk.Problemf("/url", "%s", problem))
		}
	}
	for name, value := range in.Headers {
		pointer := sdk.Pointer("headers", name)
		switch {
		case !sdk.IsHeaderName(name):
			problems = append(problems, sdk.Problemf(pointer, "is no name of a header"))
		case slices.Contains(ownHeaders, strings.ToLower(name)):
			problems = append(problems, sdk.Problemf(pointer, "%s is not yours to set", strings.ToLower(name)).
				WithDetail("the token goes where token_in says"))
		case !sdk.IsHeaderValue(value):
			problems = append(problems, sdk.Problemf(pointer, "must not hold control characters"))
		}
	}
	slices.SortFunc(problems, func(a, b sdk.Problem) int { return strings.Compare(a.Pointer, b.Pointer) })
	return problems
}

// resourceURLProblem says what is wrong with a URL that a token is to be sent to,
// or "". Whether its host is allowed is for the connection to say.
func resourceURLProblem(text string) string {
	u, err := url.Parse(text)
	switch {
	case err != nil || strings.ContainsAny(text, "\\ "):
		return "is no URL" // the parser's words would repeat it
	case u.Scheme != "https" && u.Scheme != "http" || u.Hostname() == "":
		return "must be absolute, such as https://api.example.com/me"
	case u.User != nil:
		return "must not hold a user or a password"
	case !isSafe(u):
		return "must start with https://: the token is sent there (http is for loopback addresses only)"
	}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return "has a query that can't be read"
	}
	if query.Has("access_token") {
		return "must not hold access_token: the connection's own token is sent, see token_in"
	}
	return ""
}

// resourceGet is action auth.resource_get: one GET with the access token in
// exactly one of the two documented places.
func (p *plugin) resourceGet(c *sdk.Call[Config], in ResourceInput) (ResourceOutput, error) {
	u, err := url.Parse(in.URL)
	if err != nil || !c.Config.allows(u) {
		return ResourceOutput{}, sdk.Invalid("/url", "connection %s does not allow the host %s", c.ConnectionName(), sdk.Shown(hostOf(u), 128)).
			WithHint("add it to allow_hosts in the config of connection %s: the access token is sent there", c.ConnectionName())
	}
	token, _, err := p.acquire(c, sdk.TokenRequest{})
	if err != nil {
		return ResourceOutput{}, err
	}
	request := &sdk.Request{URL: in.URL, Header: http.Header{}, Accept: []int{http.StatusNotModified}}
	for name, value := range in.Headers {
		request.Header.Set(name, value)
	}
	if in.TokenIn == "query" {
		request.Query, request.SecretQuery = url.Values{"access_token": {token.AccessToken}}, []string{"access_token"}
	} else {
		request.Header.Set("Authorization", "Bearer "+token.AccessToken)
	}
	response, err := c.HTTP().WithOrigin(in.URL).Do(request) // allow_hosts has granted it
	if err != nil {
		return ResourceOutput{}, hinted(err)
	}
	body, err := bodyOf(response)
	return ResourceOutput{Status: int64(response.Status), Headers: headersOf(response.Header), Body: body}, err
}

func hostOf(u *url.URL) string {
	if u == nil {
		return ""
	}
	return u.Host
}

// bodyOf returns JSON as it came and everything else as text.
func bodyOf(r *sdk.Response) (sdk.Value, error) {
	if len(r.Body) == 0 {
		return sdk.Value("null"), nil
	}
	mediaType, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	labelled := mediaType == "application/json" || strings.HasSuffix(mediaType, "+json")
	start := strings.TrimSpace(string(r.Body))
	switch {
	case labelled, json.Valid(r.Body) && (mediaType == "" || start[0] == '{' || start[0] == '['):
		return r.Document()
	case !utf8.Valid(r.Body):
		return nil, r.Fail(sdk.CodeUnsupported, "the answer is neither JSON nor text")
	}
	encoded, err := json.Marshal(string(r.Body))
	return encoded, err
}

// headersOf returns the headers of an answer without its cookies.
func headersOf(header http.Header) map[string]string {
	all := map[string]string{}
	for name, values := range header {
		if name != "Set-Cookie" {
			all[strings.ToLower(name)] = strings.Join(values, ", ")
		}
	}
	return all
}

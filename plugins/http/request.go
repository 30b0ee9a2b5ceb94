package http

import (
	"encoding/base64"
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"slices"

	"github.com/flowrun/flowrun/sdk"
)

// answerHeader tells a simulator how an answer will be read: base64 of a JSON object.
const answerHeader = "Flowrun-Answer"

// maxAnswerHeader bounds that header, in bytes.
const maxAnswerHeader = 48 << 10

// build makes the request of an input: where it goes, with its query and headers. The
// body is put in by who has one.
func (t target) build(c *sdk.Call[Config]) (*sdk.Request, error) {
	request := &sdk.Request{Query: parameters(t.Query, t.Lists), Header: http.Header{}, URL: t.URL, Stay: !t.Redirects}
	if t.URL == "" {
		path, err := t.path(c.Config)
		if err != nil {
			return nil, err
		}
		request.Path = path
	}
	for name, value := range t.Secrets.Query {
		request.Query.Set(name, value)
		request.SecretQuery = append(request.SecretQuery, name)
	}
	slices.Sort(request.SecretQuery)
	for name, value := range t.Headers {
		if !sdk.IsNull(value) {
			request.Header.Set(name, text(value))
		}
	}
	for name, value := range t.Secrets.Headers {
		request.Header.Set(name, value)
	}
	statuses, err := expected(t.Expect)
	if err != nil {
		return nil, err
	}
	request.Accept, request.Classify = statuses, limited(statuses)
	return request, nil
}

// path is the path with its placeholders filled in: by params of the step, its secret
// ones, and those of the connection.
func (t target) path(of Config) (string, error) {
	values := map[string]string{}
	if of.Simulated { // the declared connection may have them
		for _, name := range namesIn(t.Path) {
			values[name] = "simulated"
		}
	}
	maps.Copy(values, of.Params)
	maps.Copy(values, texts(t.Params))
	maps.Copy(values, t.Secrets.Params)
	filled, err := fill(t.Path, values, func(name string) string {
		if _, secret := t.Secrets.Params[name]; secret {
			return sdk.Pointer("secrets", "params", name)
		}
		if _, own := t.Params[name]; own {
			return sdk.Pointer("params", name)
		}
		return "/path"
	})
	return escaped(filled), err
}

// send puts the connection's credential on a request and sends it, once.
func send(c *sdk.Call[Config], request *sdk.Request, told any) (*sdk.Response, error) {
	if c.Config.Simulated {
		simulate(request, told)
	}
	client, key, err := credential(c, request.URL)
	if err != nil {
		return nil, err
	}
	if len(key) > 0 {
		withKey(request, key)
	}
	return client.Do(request)
}

// withKey puts the key of the connection into the query, in the place of what stands
// there: a link to a next page repeats it.
func withKey(request *sdk.Request, key url.Values) {
	if u, err := url.Parse(request.URL); err == nil && request.URL != "" {
		query := u.Query()
		for name := range key {
			query.Del(name)
		}
		u.RawQuery = query.Encode()
		request.URL = u.String()
	}
	if request.Query == nil {
		request.Query = url.Values{}
	}
	for name, values := range key {
		request.Query[name] = values
		request.SecretQuery = append(request.SecretQuery, name)
	}
}

// simulate sends a request to the simulator at base_url, wherever it should go, and lets
// it know how the answer will be read.
func simulate(request *sdk.Request, told any) {
	if u, err := url.Parse(request.URL); err == nil && request.URL != "" {
		query := u.Query()
		maps.Copy(query, request.Query)
		request.URL, request.Path, request.Query = "", u.EscapedPath(), query
	}
	encoded, err := json.Marshal(told)
	if text := base64.StdEncoding.EncodeToString(encoded); err == nil && len(text) <= maxAnswerHeader {
		request.Header.Set(answerHeader, text)
	}
}

// told is what a simulator is told of an answer.
type told struct {
	As     string    `json:"as"`
	Answer sdk.Value `json:"answer,omitempty"`
	Pages  *pages    `json:"pages,omitempty"`
}

// get is action http.get.
func (p *plugin) get(c *sdk.Call[Config], in getInput) (pagedOutput, error) {
	in.shape = p.shapes.of(in.Answer)
	if in.Pages == nil && (c.AllPages() || in.Cursor != nil) {
		return pagedOutput{}, sdk.Invalid("/pages", "is needed to read page by page").WithHint("say with pages where the items are and what leads to the next page")
	}
	request, err := in.build(c)
	if err != nil {
		return pagedOutput{}, err
	}
	in.bounds(request, c.Config.Headers)
	cursor := ""
	if in.Pages != nil {
		cursor = c.PageAt(in.Cursor)
		if err := in.Pages.ask(request, cursor); err != nil {
			return pagedOutput{}, err
		}
		in.keepSecrets(request)
	}
	if in.As == kindBlob {
		out, err := in.receive(c, request)
		return pagedOutput{output: out}, err
	}
	response, err := send(c, request, told{in.As, in.Answer, in.Pages})
	if err != nil {
		if in.Pages != nil && (in.Pages.By == byCursor || in.Pages.By == byLink) {
			err = c.CursorRefused(err)
		}
		return pagedOutput{}, err
	}
	out, err := in.read(response)
	if err != nil {
		return pagedOutput{}, err
	}
	markSecrets(c, in.reading, out, in.Pages)
	if in.Pages == nil {
		return pagedOutput{output: out}, nil
	}
	return in.page(c, response, out, cursor)
}

// keepSecrets puts the secret parameters into the request of a link, which may not have
// them.
func (in getInput) keepSecrets(request *sdk.Request) {
	if request.Query != nil || len(in.Secrets.Query) == 0 {
		return
	}
	key := url.Values{}
	for name, value := range in.Secrets.Query {
		key.Set(name, value)
	}
	request.SecretQuery = nil
	withKey(request, key)
}

// page is the output of a page. An expected status that is no success ends the reading.
func (in getInput) page(c *sdk.Call[Config], r *sdk.Response, out output, cursor string) (pagedOutput, error) {
	paged := pagedOutput{output: out, Items: sdk.Value("[]"), NextCursor: null}
	if !out.OK {
		return paged, nil
	}
	items, next, err := in.Pages.read(r, out.Body, cursor)
	if err != nil {
		return pagedOutput{}, err
	}
	if len(items) > 0 {
		paged.Items = sdk.JSON(items)
	}
	if next != "" {
		paged.NextCursor = sdk.Text(next)
		c.Next(next)
	}
	if c.AllPages() {
		paged.Body = null
	}
	return paged, nil
}

// markSecrets marks what `answer` calls writeOnly.
func markSecrets(c *sdk.Call[Config], how reading, out output, of *pages) {
	if how.Answer == nil || !out.OK || out.Kind != kindJSON {
		return
	}
	for _, pointer := range how.shape.Secrets(out.Body) {
		c.Sensitive("/body" + pointer)
		if rest, within := cutPointer(pointer, of); within {
			c.Sensitive("/items" + rest)
		}
	}
}

// cutPointer is the rest of a pointer below the items of a page.
func cutPointer(pointer string, of *pages) (rest string, within bool) {
	if of == nil {
		return "", false
	}
	if rest = pointer[min(len(of.Items), len(pointer)):]; pointer[:len(pointer)-len(rest)] != of.Items {
		return "", false
	}
	return rest, rest == "" || rest[0] == '/'
}

// head is action http.head.
func head(c *sdk.Call[Config], in headInput) (output, error) {
	request, err := in.build(c)
	if err != nil {
		return output{}, err
	}
	request.Method = http.MethodHead
	response, err := send(c, request, told{As: kindNone})
	if err != nil {
		return output{}, err
	}
	return reading{As: kindNone}.read(response)
}

// put is action http.put.
func (p *plugin) put(c *sdk.Call[Config], in writeInput) (output, error) {
	return p.send(c, in, http.MethodPut, "")
}

// remove is action http.delete.
func (p *plugin) remove(c *sdk.Call[Config], in writeInput) (output, error) {
	return p.send(c, in, http.MethodDelete, "")
}

// post is action http.post.
func (p *plugin) post(c *sdk.Call[Config], in writeInput) (output, error) {
	return p.send(c, in, http.MethodPost, "")
}

// patch is action http.patch.
func (p *plugin) patch(c *sdk.Call[Config], in writeInput) (output, error) {
	return p.send(c, in, http.MethodPatch, "")
}

// postKeyed is action http.post_keyed.
func (p *plugin) postKeyed(c *sdk.Call[Config], in keyedInput) (output, error) {
	return p.send(c, in.writeInput, http.MethodPost, or(in.KeyHeader, c.Config.KeyHeader))
}

// send sends a request with a body.
func (p *plugin) send(c *sdk.Call[Config], in writeInput, method, keyHeader string) (output, error) {
	in.shape = p.shapes.of(in.Answer)
	request, err := in.build(c)
	if err != nil {
		return output{}, err
	}
	request.Method, request.KeyHeader = method, keyHeader
	in.bounds(request, c.Config.Headers)
	if err := in.put(c, request); err != nil {
		return output{}, err
	}
	if in.As == kindBlob {
		return in.receive(c, request)
	}
	response, err := send(c, request, told{As: in.As, Answer: in.Answer})
	if err != nil {
		return output{}, err
	}
	out, err := in.read(response)
	if err != nil {
		return output{}, err
	}
	markSecrets(c, in.reading, out, nil)
	return out, nil
}

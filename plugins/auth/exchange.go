package auth

import (
	"context"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/flowrun/flowrun/sdk"
)

const grantDevice = "urn:ietf:params:oauth:grant-type:device_code"

// requestTimeout bounds one exchange with the authorization server: an answer
// that comes later would meet the next poll.
const requestTimeout = 15 * time.Second

// exchange is an answer of the authorization server.
type exchange struct {
	status   int
	response *sdk.Response
	oauthAnswer
	secrets []string // of the request: what an error must not repeat
}

// do sends a POST that carries a credential to the authorization server: a form
// on a network connection of its own and without following redirects
// . It reads the answer whatever its status; an error means that there is no
// answer to read.
func (p *plugin) do(c *sdk.Call[Config], request *sdk.Request, secrets ...string) (exchange, error) {
	ctx, cancel := context.WithTimeout(c, requestTimeout)
	defer cancel()
	request.Method, request.Close, request.MaxBody = http.MethodPost, true, maxTokenResponse
	request.ContentType = "application/x-www-form-urlencoded"
	// the address is of the config, or of the metadata of its issuer
	response, err := c.HTTP().WithContext(ctx).WithOrigin(request.URL).Do(request)
	if response == nil {
		scrub(err, secrets)
		return exchange{}, hinted(err)
	}
	e := exchange{status: response.Status, response: response, secrets: secrets}
	answer, problem := readAnswer(response)
	if e.oauthAnswer = answer; answer.Description == "" {
		e.Description, _ = response.Words()
		if e.Description == answer.Error {
			e.Description = ""
		}
	}
	if problem != "" && e.fine() {
		return e, e.fail(sdk.CodeUnexpectedResponse, "%s", problem)
	}
	if problem := response.DocumentProblem(); problem != "" && e.fine() {
		return e, e.fail(sdk.CodeUnexpectedResponse, "%s", problem)
	}
	return e, nil
}

// fine reports a status of success without an error in the body, which decides
// before the status.
func (e exchange) fine() bool { return e.status >= 200 && e.status < 300 && e.Error == "" }

// decisiveWords are those of the standards and of the service's document, which
// say what to do whatever the status below 500 is: the class of the refusal, and
// what a person can do about it on CONNECTION.
var decisiveWords = map[string]struct {
	code sdk.Code
	hint string
}{
	"authorization_pending":  {sdk.CodeUnexpectedResponse, ""}, // no refusal: judge has looked at it
	"slow_down":              {sdk.CodeUnexpectedResponse, ""},
	"access_denied":          {sdk.CodeDenied, ""},
	"expired_token":          {sdk.CodeExpired, ""},
	"admin_policy_enforced":  {sdk.CodeForbidden, "an administrator of the account must allow the scopes"},
	"org_internal":           {sdk.CodeForbidden, "log in with an account of the client's organization"},
	"unsupported_grant_type": {sdk.CodeInternal, "the server does not offer this grant: check auth_url and token_endpoint of connection CONNECTION"}, // the plugin itself wrote it
	"invalid_client":         {sdk.CodeInvalid, wrongClient},
	"unauthorized_client":    {sdk.CodeInvalid, wrongClient},
	"invalid_grant":          {sdk.CodeInvalid, ""},
	"invalid_request":        {sdk.CodeInvalid, ""},
	"invalid_scope":          {sdk.CodeInvalid, ""},
}

const wrongClient = "the client was not found, is not of the limited-input-device type, or its secret is wrong: check client_id, client_secret and client_auth of connection CONNECTION"

func (e exchange) isDecisive() bool {
	_, ok := decisiveWords[e.Error]
	return ok && e.status < 500
}

// endsGrant reports the one word after which a refresh token is of no use any
// more, in an answer that is an OAuth error (RFC 6749 5.2). A proxy, a framework
// or a broken server may answer with any status and any page.
func (e exchange) endsGrant() bool {
	return e.GrantIsGone && (e.status >= 200 && e.status < 300 || e.status >= 400 && e.status < 500)
}

// isForeign reports an answer that holds no word of an authorization server.
func (e exchange) isForeign() bool { return !e.fine() && !oauthWord().MatchString(e.Error) }

// oauthWord is what the words of `error` look like in all specifications.
var oauthWord = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z][a-z0-9_.:-]*$`) })

// isRateLimited reports that the server asks for fewer requests.
func (e exchange) isRateLimited() bool {
	return e.Error == "rate_limit_exceeded" || e.status == http.StatusTooManyRequests && !e.isDecisive()
}

// isServerTrouble reports a failure that says nothing about the request.
func (e exchange) isServerTrouble() bool {
	if e.isDecisive() || e.isRateLimited() {
		return false
	}
	if e.Error == "server_error" || e.Error == "temporarily_unavailable" {
		return true
	}
	switch e.status {
	case http.StatusProxyAuthRequired, http.StatusRequestTimeout, http.StatusTooEarly:
		return true
	}
	return e.status >= 500
}

// fail makes an error about the answer. It shows no part of the body but the
// error's own words: a body may hold tokens, also one that was cut short.
func (e exchange) fail(code sdk.Code, format string, args ...any) *sdk.Error {
	failure := e.response.Fail(code, format, args...)
	failure.Reason = e.shown(e.Error, 64)
	scrub(failure, e.secrets)
	return failure
}

// refusal classifies an answer that is no success.
func (e exchange) refusal(c *sdk.Call[Config]) *sdk.Error {
	if e.isRateLimited() {
		failure := e.fail(sdk.CodeRateLimited, "%s", e.words())
		failure.RetryAfter = max(failure.RetryAfter, backoff(c.Run.Attempt))
		failure.Applied = sdk.NotApplied
		return failure
	}
	if e.isServerTrouble() {
		return e.fail(sdk.CodeUnavailable, "%s", e.words())
	}
	failure := e.fail(e.code(), "%s", e.words())
	failure.Hint = e.hint(c)
	if e.status < 400 { // an error in an answer of success is a refusal all the same
		failure.Applied = sdk.NotApplied
	}
	return failure
}

// code is the class of a refusal: by its word. Without a known one nobody can say
// what was refused.
func (e exchange) code() sdk.Code {
	if word, ok := decisiveWords[e.Error]; ok {
		return word.code
	}
	// not the word of an authorization server: a proxy, a framework, a wrong address
	return sdk.CodeUnexpectedResponse
}

func (e exchange) hint(c *sdk.Call[Config]) string {
	name := c.ConnectionName()
	if hint := decisiveWords[e.Error].hint; hint != "" {
		return strings.ReplaceAll(hint, "CONNECTION", name)
	}
	if e.status >= 300 && e.status < 400 {
		return fmt.Sprintf("redirects are not followed with secrets: check auth_url and the endpoints of connection %s", name)
	}
	if e.isForeign() {
		return fmt.Sprintf("a proxy may have answered, or the address is wrong: check auth_url and the endpoints of connection %s; what is stored of the login is kept", name)
	}
	return ""
}

// words is the message of a refusal.
func (e exchange) words() string {
	text := fmt.Sprintf("%d %s", e.status, http.StatusText(e.status))
	if e.Error != "" {
		text += ": " + e.shown(e.Error, 64)
	}
	if e.Description != "" {
		text += ": " + e.shown(e.Description, 300)
	}
	if e.isForeign() && e.status >= 400 {
		text += ", which is no answer of an authorization server" + e.mediaType()
	}
	return text
}

// mediaType names the type of a body, for a message.
func (e exchange) mediaType() string {
	if len(e.response.Body) == 0 {
		return " (empty)"
	}
	mediaType, _, err := mime.ParseMediaType(e.response.Header.Get("Content-Type"))
	if err != nil {
		return ""
	}
	return " (" + e.shown(mediaType, 64) + ")"
}

// shown makes a text of the server fit to be shown. What the request held of
// secrets is taken out before the text is cut.
func (e exchange) shown(text string, limit int) string {
	for _, secret := range e.secrets {
		if secret != "" {
			text = strings.ReplaceAll(text, secret, "[redacted]")
		}
	}
	return e.response.Shown(text, limit)
}

// backoff is how long to wait after a used-up quota, for which the document
// names no time: 2 s, doubled with each attempt, up to 60 s.
func backoff(attempt int) time.Duration {
	wait := 2 * time.Second
	for ; attempt > 1 && wait < time.Minute; attempt-- {
		wait *= 2
	}
	return min(wait, time.Minute)
}

// scrub takes out of an error what may hold a secret: the excerpt of the body,
// and the texts of the request.
func scrub(err error, secrets []string) {
	var failure *sdk.Error
	if !errors.As(err, &failure) {
		return
	}
	_ = sdk.WithoutBody(failure)
	for _, secret := range secrets {
		if secret != "" {
			failure.Message = strings.ReplaceAll(failure.Message, secret, "[redacted]")
			failure.Reason = strings.ReplaceAll(failure.Reason, secret, "[redacted]")
		}
	}
}

// hinted returns an error whose hint speaks of this plugin's settings: it has no
// base_url.
func hinted(err error) error {
	if failure, ok := errors.AsType[*sdk.Error](err); ok {
		failure.Hint = strings.ReplaceAll(failure.Hint, "base_url", "the URLs of the connection")
	}
	return err
}

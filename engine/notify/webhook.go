package notify

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
)

// maxAnswer is how much of a webhook's answer is read, for the connection's sake
// alone: nothing of it is shown.
const maxAnswer = 64 << 10

// post sends the target's own request, else the message as the JSON body of one POST.
// Redirects are not followed: the address may be a secret.
func (s *Sender) post(ctx context.Context, target Target, message Message, key string) *runs.Error {
	own := target.Request
	if own == nil {
		body, err := json.Marshal(message)
		if err != nil {
			return refused("the message can't be encoded: " + err.Error())
		}
		own = &Request{Method: http.MethodPost, Header: http.Header{"Content-Type": {"application/json"}}, Body: body}
	}
	address, err := url.Parse(target.Webhook)
	if err != nil || address.Host == "" || address.Scheme != "https" && address.Scheme != "http" {
		failure := refused(fmt.Sprintf("the webhook of %s is not an http or https address", target.Name))
		failure.Hint = diag.Say("look at the value under `notify` in flowrun.yaml, or of the secret that it names")
		return failure
	}
	request, err := http.NewRequestWithContext(ctx, own.Method, address.String(), bytes.NewReader(own.Body))
	if err != nil {
		return refused(fmt.Sprintf("the webhook of %s is not an address that can be posted to", target.Name))
	}
	maps.Copy(request.Header, own.Header)
	request.Header.Set("Idempotency-Key", key)
	request.Header.Set("User-Agent", "flowrun/"+s.Version)
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	response, err := client.Do(request)
	if err != nil {
		return unreached(ctx, target, err)
	}
	defer response.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(response.Body, maxAnswer)) // only to keep the connection
	return judge(target, response)
}

func refused(message string) *runs.Error {
	return &runs.Error{Kind: plan.KindInvalid, Applied: runs.NotApplied, Message: message}
}

// unreached tells of a request without an answer, never with its address.
func unreached(ctx context.Context, target Target, err error) *runs.Error {
	failure := &runs.Error{Kind: plan.KindUnavailable, Applied: runs.AppliedUnknown, Message: "the webhook of " + target.Name + " gave no answer"}
	var dial *net.OpError
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		failure.Kind, failure.Message = plan.KindTimeout, "the webhook of "+target.Name+" gave no answer in time"
	case ctx.Err() != nil:
		failure.Kind, failure.Message = plan.KindCanceled, "canceled"
	case errors.As(err, &dial) && dial.Op == "dial":
		failure.Applied, failure.Message = runs.NotApplied, "the webhook of "+target.Name+" can't be reached"
	}
	return failure
}

// judge turns an answer's status into a failure; nil for 2xx.
func judge(target Target, response *http.Response) *runs.Error {
	status := response.StatusCode
	if status/100 == 2 {
		return nil
	}
	failure := &runs.Error{
		Kind: plan.KindInvalid, Applied: runs.NotApplied, HTTPStatus: status,
		Message: fmt.Sprintf("the webhook of %s answered %d %s", target.Name, status, http.StatusText(status)),
	}
	switch {
	case status == http.StatusTooManyRequests:
		failure.Kind, failure.RetryAfterS = plan.KindRateLimited, retryAfter(response.Header.Get("Retry-After"))
	case status == http.StatusUnauthorized:
		failure.Kind = plan.KindUnauthorized
	case status == http.StatusForbidden:
		failure.Kind = plan.KindForbidden
	case status == http.StatusNotFound, status == http.StatusGone:
		failure.Kind = plan.KindNotFound
	case status >= 500:
		failure.Kind, failure.Applied = plan.KindUnavailable, runs.AppliedUnknown
		failure.RetryAfterS = retryAfter(response.Header.Get("Retry-After"))
	case status/100 == 3:
		failure.Hint = diag.Say("redirects are not followed: give the address that it points to")
	}
	return failure
}

// retryAfter reads the seconds of a Retry-After header; dates count too.
func retryAfter(text string) float64 {
	if seconds, err := strconv.Atoi(text); err == nil && seconds >= 0 {
		return float64(seconds)
	}
	if at, err := http.ParseTime(text); err == nil {
		return max(0, time.Until(at).Seconds())
	}
	return 0
}

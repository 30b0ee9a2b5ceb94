package http

import (
	"encoding/json"
	"errors"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/flowrun/flowrun/sdk"
)

// expected are the statuses that `expect` names. The error says what is wrong with an
// entry, by its place.
func expected(given []sdk.Value) ([]int, error) {
	var all []int
	for i, value := range given {
		word := strings.ToLower(text(value))
		status, err := strconv.Atoi(word)
		switch {
		case err == nil && status >= 200 && status <= 599:
			all = append(all, status)
		case len(word) == 3 && strings.HasSuffix(word, "xx") && word[0] >= '2' && word[0] <= '5':
			first := int(word[0]-'0') * 100
			for status := first; status < first+100; status++ {
				all = append(all, status)
			}
		default:
			return nil, sdk.Invalid(sdk.Pointer("expect", i), "must be a status within 200 and 599, or 2xx, 3xx, 4xx or 5xx")
		}
	}
	return all, nil
}

// beyond reports whether a status outside of 2xx is among those that are expected.
func beyond(statuses []int) bool {
	for _, status := range statuses {
		if !fine(status) {
			return true
		}
	}
	return false
}

func fine(status int) bool { return status >= 200 && status < 300 }

// limited tells answers of a service that wants fewer requests, where the SDK's reading of
// the status would not: 403 with no requests left, and when there will be some, as the
// headers of the RateLimit draft and their forerunners say it. accepted are no failures.
func limited(accepted []int) func(*sdk.Response) error {
	return func(r *sdk.Response) error {
		for _, status := range accepted {
			if r.Status == status {
				return nil
			}
		}
		none := r.Status == http.StatusForbidden && noneLeft(r.Header)
		if !none && r.Status != http.StatusTooManyRequests && r.Status != http.StatusServiceUnavailable {
			return nil
		}
		failure := r.StatusError()
		if none {
			failure.Code = sdk.CodeRateLimited
		}
		if failure.RetryAfter == 0 && (none || r.Status == http.StatusTooManyRequests) {
			failure.RetryAfter = untilReset(r.Header)
		}
		return failure
	}
}

// noneLeft reports whether the headers say that no request is left.
func noneLeft(header http.Header) bool {
	for _, name := range []string{"X-Ratelimit-Remaining", "Ratelimit-Remaining"} {
		if left, err := strconv.Atoi(strings.TrimSpace(header.Get(name))); err == nil && left == 0 {
			return true
		}
	}
	left, _, ok := policy(header)
	return ok && left == 0
}

// epochBegins is the number from which a reset is a time and no number of seconds.
const epochBegins = 1_000_000_000

// longestReset bounds what a service may ask for.
const longestReset = 24 * time.Hour

// untilReset is how long a service asks to wait, 0 where it does not say. A time is held
// against the answer's own Date, so that a wrong clock does not matter.
func untilReset(header http.Header) time.Duration {
	if _, reset, ok := policy(header); ok && reset > 0 {
		return bounded(reset)
	}
	for _, name := range []string{"Ratelimit-Reset", "X-Ratelimit-Reset"} {
		seconds, err := strconv.ParseFloat(strings.TrimSpace(header.Get(name)), 64)
		if err != nil || math.IsNaN(seconds) || seconds <= 0 {
			continue
		}
		if seconds < epochBegins {
			return bounded(seconds)
		}
		date, err := http.ParseTime(header.Get("Date"))
		if err == nil {
			return bounded(seconds - float64(date.Unix()))
		}
	}
	return 0
}

func bounded(seconds float64) time.Duration {
	return time.Duration(min(max(seconds, 0), longestReset.Seconds()) * float64(time.Second))
}

// policy reads the header RateLimit of the draft: `"default";r=0;t=30`, the first of its
// policies that has no requests left, else the first one.
func policy(header http.Header) (left int, reset float64, ok bool) {
	for _, item := range strings.Split(strings.Join(header.Values("Ratelimit"), ","), ",") {
		itemLeft, itemReset, itemOK := -1, 0.0, false
		for _, parameter := range strings.Split(item, ";")[1:] {
			name, value, _ := strings.Cut(strings.TrimSpace(parameter), "=")
			number, err := strconv.ParseFloat(value, 64)
			switch {
			case err != nil || math.IsNaN(number) || number < 0:
			case name == "r":
				itemLeft, itemOK = int(min(number, math.MaxInt32)), true
			case name == "t":
				itemReset = number
			}
		}
		if itemOK && (!ok || itemLeft == 0 && left != 0) {
			left, reset, ok = itemLeft, itemReset, true
		}
	}
	return left, reset, ok
}

// atPointer is the value at a JSON Pointer of a document, nil where there is none.
func atPointer(document sdk.Value, pointer string) sdk.Value {
	if pointer == "" {
		return document
	}
	for _, token := range strings.Split(pointer[1:], "/") {
		token = unescapePointer(token)
		if members, isObject := sdk.ReadMembers(document); isObject {
			if document = members.Get(token); document == nil {
				return nil
			}
			continue
		}
		var list []sdk.Value
		index, err := strconv.Atoi(token)
		if err != nil || json.Unmarshal(document, &list) != nil || index < 0 || index >= len(list) {
			return nil
		}
		document = list[index]
	}
	return document
}

// isFailure returns an SDK error.
func isFailure(err error) (*sdk.Error, bool) { return errors.AsType[*sdk.Error](err) }

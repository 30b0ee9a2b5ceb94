package guard

import (
	"net/http"
	"net/netip"
	"strconv"
	"sync"
	"time"
)

// An address may be wrong so often within the window; more wrong credentials are
// answered with 429. What is right is never held up.
const (
	maxFailures   = 10
	failureWindow = time.Minute
	maxAddresses  = 10_000 // the oldest is forgotten then
)

// failures counts wrong credentials by address. Safe for concurrent use.
type failures struct {
	now func() time.Time

	mu    sync.Mutex
	byKey map[string][]time.Time // oldest first, at most maxFailures
}

func newFailures(now func() time.Time) *failures {
	return &failures{now: now, byKey: map[string][]time.Time{}}
}

// networkOf is what failures are counted by: an IPv4 address, or the network of
// an IPv6 host, which has addresses without end.
func networkOf(address string) string {
	ip, err := netip.ParseAddr(address)
	if err != nil {
		return address
	}
	ip = ip.Unmap().WithZone("")
	if ip.Is4() || ip.IsLoopback() {
		return ip.String()
	}
	network, err := ip.Prefix(64)
	if err != nil {
		return ip.String()
	}
	return network.String()
}

// add counts a failure. It returns how long the key has been wrong too often for,
// zero when it was not; what is too often is not counted, and prolongs nothing.
func (f *failures) add(key string) (wait time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := f.now()
	times := f.recent(key, now)
	if len(times) >= maxFailures {
		return times[0].Add(failureWindow).Sub(now)
	}
	if _, ok := f.byKey[key]; !ok && len(f.byKey) >= maxAddresses {
		f.makeRoom(now)
	}
	f.byKey[key] = append(times, now)
	return 0
}

// recent returns the failures of a key within the window.
func (f *failures) recent(key string, now time.Time) []time.Time {
	times := f.byKey[key]
	for len(times) > 0 && (now.Sub(times[0]) >= failureWindow || now.Before(times[0])) {
		times = times[1:]
	}
	return times
}

// makeRoom forgets what is too old, or else the one that failed longest ago.
func (f *failures) makeRoom(now time.Time) {
	oldest := ""
	for key := range f.byKey {
		times := f.recent(key, now)
		if len(times) == 0 {
			delete(f.byKey, key)
			continue
		}
		if oldest == "" || times[len(times)-1].Before(f.byKey[oldest][len(f.byKey[oldest])-1]) {
			oldest = key
		}
	}
	if len(f.byKey) >= maxAddresses {
		delete(f.byKey, oldest)
	}
}

// watch counts an answer of 401 as a failure of key, and turns it into 429 when
// there were too many. A right request is never held up.
func (f *failures) watch(w http.ResponseWriter, key string) http.ResponseWriter {
	return &failureWriter{ResponseWriter: w, failures: f, key: key}
}

type failureWriter struct {
	http.ResponseWriter
	failures *failures
	key      string
}

// WriteHeader sends the status, or 429.
func (w *failureWriter) WriteHeader(status int) {
	if status == http.StatusUnauthorized {
		if wait := w.failures.add(w.key); wait > 0 {
			w.Header().Set("Retry-After", retryAfter(wait))
			status = http.StatusTooManyRequests
		}
	}
	w.ResponseWriter.WriteHeader(status)
}

// Unwrap lets http.ResponseController reach the connection.
func (w *failureWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// retryAfter is a wait in whole seconds, rounded up.
func retryAfter(wait time.Duration) string {
	return strconv.Itoa(int((wait + time.Second - 1) / time.Second))
}

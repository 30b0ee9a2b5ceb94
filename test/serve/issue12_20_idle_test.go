package serve

import (
	"io"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/flowrun/flowrun/engine/access"
	"github.com/flowrun/flowrun/internal/web"
)

// TestIssue12_20IdleConnectionsDelayNobody: 600 connections that say nothing, or half
// a header, and 10,000 wrong tokens. Whoever comes beside them is answered, and a
// stream that was there goes on. Nothing here ends by the clock: the time for a
// header is an hour.
func TestIssue12_20IdleConnectionsDelayNobody(t *testing.T) {
	p := newProduct(t)
	_, address := p.listen(func(o *web.ServerOptions) { o.HeaderTime = time.Hour })
	token := p.token(access.NewToken{Scope: "viewer"})
	stream := follow(t, "http://"+address+"/api/v1/stream?topics=runs", bearer(token))
	for i := range 600 {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if i%3 == 0 {
			if _, err := io.WriteString(conn, "GET /api/v1/runs HTTP/1.1\r\nHost: "+address+"\r\nAuthorization: Bearer"); err != nil {
				t.Fatal(err)
			}
		}
	}
	ask := func(token string) int {
		client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 2 * time.Minute}
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+"/api/v1/runs", nil)
		if err != nil {
			t.Error(err)
			return 0
		}
		request.Header = bearer(token)
		response, err := client.Do(request)
		if err != nil {
			t.Error(err)
			return 0
		}
		_ = response.Body.Close()
		return response.StatusCode
	}
	if got := ask(token); got != http.StatusOK {
		t.Fatalf("beside 600 idle connections: %d", got)
	}
	attempts(t, address)
	for range 20 {
		if got := ask(token); got != http.StatusOK {
			t.Fatalf("after 10,000 wrong tokens: %d", got)
		}
	}
	if !isOpen(stream) {
		t.Error("the stream of somebody else has ended")
	}
}

// attempts sends 10,000 wrong tokens over eight connections.
func attempts(t *testing.T, address string) {
	t.Helper()
	const workers, each = 8, 1250
	var group sync.WaitGroup
	wrong := make([]map[int]int, workers)
	for i := range workers {
		wrong[i] = map[int]int{}
		group.Go(func() {
			c := &connection{t: t, address: address}
			defer c.close()
			for range each {
				status, _, _ := c.send(raw("GET", "/api/v1/runs", address, "", "Authorization: Bearer frt_wrong"))
				wrong[i][status]++
			}
		})
	}
	group.Wait()
	seen := map[int]int{}
	for _, by := range wrong {
		for status, n := range by {
			seen[status] += n
		}
	}
	if total := seen[http.StatusUnauthorized] + seen[http.StatusTooManyRequests]; total != workers*each {
		t.Errorf("10,000 wrong tokens are answered with %v", seen)
	}
}

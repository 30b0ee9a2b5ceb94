package cli

import (
	"bytes"
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/flowrun/flowrun/internal/web"
)

// TestAnOwnerThatAnswersNobodyIsTold: a command that waits for it says so, once. While
// others are answered, an answer may take its time.
func TestAnOwnerThatAnswersNobodyIsTold(t *testing.T) {
	t.Parallel()
	for name, hangs := range map[string]bool{"it hangs": true, "it only takes long": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var (
				asked   sync.WaitGroup // for the owner, three times
				counted = make(chan struct{}, 1000)
				release = make(chan struct{})
			)
			owner := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if strings.HasSuffix(r.URL.Path, "/local/owner") {
					counted <- struct{}{}
					if hangs {
						<-r.Context().Done()
						return
					}
					_, _ = w.Write([]byte(`{"pid":4711}`))
					return
				}
				<-release
				_, _ = w.Write([]byte(`{"workflows":[]}`))
			}))
			defer owner.Close()
			client := web.NewClient(&http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
				return net.Dial("tcp", owner.Listener.Addr().String())
			}})
			defer client.Close()
			stderr := &firstWrite{written: make(chan struct{})}
			s := &session{app: &app{sys: System{Stderr: stderr}}, client: client, ownerPID: 4711, silence: 10 * time.Millisecond}
			asked.Go(func() {
				defer close(release)
				if hangs { // the question may end before it arrives
					select {
					case <-stderr.written:
					case <-time.After(time.Minute):
					}
					return
				}
				for range 3 {
					<-counted
				}
			})
			_, err := tryAnyway(t.Context(), s, func(c *web.Client) (any, error) { return c.Workflows(t.Context()) })
			asked.Wait()
			want := ""
			if hangs {
				want = "process 4711, which owns the store, does not answer; waiting for it\n"
			}
			if said := stderr.text.String(); err != nil || said != want {
				t.Errorf("%v\nsaid %q\nwant %q", err, said, want)
			}
		})
	}
}

// firstWrite keeps what is written and tells of the first write.
type firstWrite struct {
	text    bytes.Buffer
	written chan struct{}
	once    sync.Once
}

func (w *firstWrite) Write(data []byte) (int, error) {
	defer w.once.Do(func() { close(w.written) })
	return w.text.Write(data)
}

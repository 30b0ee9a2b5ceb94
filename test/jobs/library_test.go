package jobs

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// libraryServer is an MCP server on the official SDK, over HTTP: what it was asked for
// stands in asked.
type libraryServer struct {
	*httptest.Server
	mu    sync.Mutex
	asked []string
}

type listInput struct {
	Folder string `json:"folder"`
	Since  string `json:"since,omitempty"`
}

type document struct {
	ID    string `json:"id"`
	Title string `json:"title"`
	Pages int    `json:"pages"`
}

type documents struct {
	Documents []document `json:"documents"`
}

type summaryInput struct {
	ID        string `json:"id"`
	Sentences int    `json:"sentences,omitempty"`
}

type summary struct {
	Summary string `json:"summary"`
	Model   string `json:"model,omitempty"`
}

const libraryToken = "library-token-1"

// newLibrary serves the tools as a file has them that was captured of such a server.
func newLibrary(t *testing.T, captured string) *libraryServer {
	t.Helper()
	l, tools := &libraryServer{}, map[string]*mcp.Tool{}
	for _, tool := range decoded[struct{ Tools []*mcp.Tool }](t, captured).Tools {
		tools[tool.Name] = tool
	}
	server := mcp.NewServer(&mcp.Implementation{Name: "library", Version: "2.1.0"}, nil)
	mcp.AddTool(server, tools["listDocuments"], func(_ context.Context, _ *mcp.CallToolRequest, in listInput) (*mcp.CallToolResult, documents, error) {
		l.note("list " + in.Folder)
		return nil, documents{[]document{{"c-1", "Lease", 12}, {"c-2", "Supply", 3}, {"c-3", "Scan", 1}}}, nil
	})
	mcp.AddTool(server, tools["summarize"], func(_ context.Context, _ *mcp.CallToolRequest, in summaryInput) (*mcp.CallToolResult, summary, error) {
		l.note(fmt.Sprintf("summarize %s in %d", in.ID, in.Sentences))
		if in.ID == "c-3" {
			return nil, summary{}, errors.New("the scan has no text")
		}
		return nil, summary{Summary: "All of " + in.ID + ".", Model: "small"}, nil
	})
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil)
	l.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+libraryToken {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(l.Close)
	return l
}

func (l *libraryServer) note(what string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.asked = append(l.asked, what)
}

// calls are what was asked, sorted: summaries are asked for at once.
func (l *libraryServer) calls() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Sorted(slices.Values(l.asked))
}

func documentSummaries(t *testing.T, j *job) {
	library := newLibrary(t, j.read(t, "library.tools.json"))
	j.instead(t, "flowrun.yaml", "https://library.example.com", library.URL)
	j.environ = []string{"FLOWRUN_SECRET_LIBRARY_TOKEN=" + libraryToken}
	j.flowrun(t, 0, "connections", "test", "library") // the server has the tools of the file
	printed := j.flowrun(t, 0, "run", "summaries.yaml", "-i", "folder=contracts")
	if !strings.Contains(printed, "summarised: 2") || !strings.Contains(printed, "c-3: the tool summarize says: the scan has no text") {
		t.Errorf("it says:\n%s", printed)
	}
	if want := []string{"list contracts", "summarize c-1 in 3", "summarize c-2 in 3", "summarize c-3 in 3"}; !slices.Equal(library.calls(), want) {
		t.Errorf("asked for %q, want %q", library.calls(), want)
	}
	pages, err := j.glob("summaries/contracts/*.md")
	if err != nil || len(pages) != 1 {
		t.Fatalf("pages %v, %v", pages, err)
	}
	if want := "# contracts\n\n## Lease\n\nAll of c-1.\n\n## Supply\n\nAll of c-2.\n"; j.read(t, pages[0]) != want {
		t.Errorf("the page is %q, want %q", j.read(t, pages[0]), want)
	}
}

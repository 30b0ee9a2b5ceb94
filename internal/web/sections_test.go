package web

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/flowrun/flowrun/internal/web/wire"
)

// TestEachRouteLiesInAnAreaOfItsSection: a request is looked for in the section of its area
// alone.
func TestEachRouteLiesInAnAreaOfItsSection(t *testing.T) {
	s, areas := newServer(Options{}), map[string]bool{}
	for _, section := range sections() {
		seen := map[string]bool{}
		for _, route := range section.routes(s) {
			_, path, _ := strings.Cut(route.Pattern, " ")
			seen[areaOf(path)] = true
			if !slices.Contains(section.areas, areaOf(path)) {
				t.Errorf("%s lies in none of %v", route.Pattern, section.areas)
			}
		}
		for _, area := range section.areas {
			if areas[area] || !seen[area] {
				t.Errorf("the area %s is listed twice, or has no route", area)
			}
			areas[area] = true
		}
	}
}

// TestSectionsAnswerAsOneMuxDid: which route serves a request, and what hears one that none
// serves, is what a mux of all routes says.
func TestSectionsAnswerAsOneMuxDid(t *testing.T) {
	s, whole := newServer(Options{}), http.NewServeMux()
	paths := []string{"/", "", "/api", Prefix, Prefix + "/", "/runs", "/healthz/x", Prefix + "/healthz", "/stream", Prefix + "/local", Prefix + "/hooks/a/b", Prefix + "x/runs", Prefix + "/runsx", "/hooks", "/hooks/a"}
	for _, route := range s.routes() {
		whole.Handle(route.Pattern, http.NotFoundHandler())
		_, path, _ := strings.Cut(route.Pattern, " ")
		path = strings.NewReplacer("{", "", "}", "").Replace(path)
		paths = append(paths, path, path+"/", path+"/x", path[:strings.LastIndex(path, "/")])
	}
	muxOf := s.muxes(s.handler)
	served, refused := 0, 0
	for _, path := range paths {
		for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodDelete, http.MethodHead, http.MethodOptions} {
			request := httptest.NewRequest(method, "/", nil)
			request.URL.Path = path
			wantHandler, want := whole.Handler(request)
			handler, got := muxOf(path).Handler(request)
			if got != want {
				t.Errorf("%s %q is served by %q, want %q", method, path, got, want)
			}
			if want != "" {
				served++
				continue
			}
			refused++
			answer, asked := httptest.NewRecorder(), httptest.NewRecorder()
			if got, want := wire.NoRoute(answer, request, handler), wire.NoRoute(asked, request, wantHandler); got.Detail != want.Detail || answer.Header().Get("Allow") != asked.Header().Get("Allow") {
				t.Errorf("%s %q hears %q, want %q", method, path, got.Detail, want.Detail)
			}
		}
	}
	if served < 100 || refused < 100 {
		t.Errorf("%d served, %d refused", served, refused)
	}
}

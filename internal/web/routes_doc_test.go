package web

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/flowrun/flowrun/internal/web/guard"
)

// TestThePageListsEveryRouteWithItsScope compares the table of docs/api.md with
// the table that is served. UPDATE=1 writes it.
func TestThePageListsEveryRouteWithItsScope(t *testing.T) {
	file := filepath.Join("..", "..", "docs", "api.md")
	page, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	const mark = "<!-- routes -->\n"
	before, got, found := strings.Cut(string(page), mark)
	if !found {
		t.Fatal("docs/api.md has no table of routes")
	}
	var table strings.Builder
	table.WriteString("| route | scope |\n|---|---|\n")
	for _, route := range Routes() {
		scope := string(route.Scope)
		switch {
		case route.Face == FaceSocket || strings.Contains(route.Pattern, splitPattern):
			continue
		case route.Face == guard.FaceOpen:
			scope = "none"
		case route.Face == guard.FaceHook:
			scope = "the trigger's own `auth`"
		}
		fmt.Fprintf(&table, "| `%s` | %s |\n", route.Pattern, scope)
	}
	table.WriteString("| `GET /metrics` | viewer |\n")
	if got == table.String() {
		return
	}
	if os.Getenv("UPDATE") == "" {
		t.Fatalf("the table of routes of docs/api.md is not that of the API: UPDATE=1 writes it\n%s", table.String())
	}
	if err := os.WriteFile(file, []byte(before+mark+table.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

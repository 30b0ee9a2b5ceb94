package project_test

import (
	"strings"
	"testing"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/project"
)

// TestEveryCodeHasItsPage: the table and the pages have the same codes and titles.
func TestEveryCodeHasItsPage(t *testing.T) {
	titles := project.Codes()
	for _, page := range diag.Pages() {
		if !strings.HasPrefix(page.Code, "FR5") {
			continue
		}
		if page.Title != titles[page.Code] {
			t.Errorf("%s: the page has the title %q, the code %q", page.Code, page.Title, titles[page.Code])
		}
		delete(titles, page.Code)
	}
	if len(titles) > 0 {
		t.Errorf("codes without a page: %v", titles)
	}
}

package main_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/flowrun/flowrun/internal/testpage"
)

// plainEnglish is the reading ease that the pages to begin with have at least.
const plainEnglish = 60

// TestThePagesToBeginWithAreReadEasily measures those that a new user reads.
// FLOWRUN_PAGE=FILE measures another page beside them.
func TestThePagesToBeginWithAreReadEasily(t *testing.T) {
	t.Parallel()
	for _, page := range []string{"README.md", "docs/guide.md", "docs/README.md", "docs/install.md", "docs/your-api.md", "docs/deploy.md", "docs/upgrade.md", "docs/ci.md", "docs/schedules.md", "docs/plugins/first-plugin.md"} {
		ease := easeOf(t, filepath.Join("../..", page))
		t.Logf("%-30s %.1f (%d words, %.1f a sentence)", page, ease.Score(), ease.Words, float64(ease.Words)/float64(ease.Sentences))
		if ease.Score() < plainEnglish {
			t.Errorf("%s has a reading ease of %.1f, of %d at least: shorter sentences, shorter words", page, ease.Score(), plainEnglish)
		}
	}
	if page := os.Getenv("FLOWRUN_PAGE"); page != "" {
		t.Logf("%s %.1f", page, easeOf(t, page).Score())
	}
}

func easeOf(t *testing.T, page string) testpage.Ease {
	t.Helper()
	source, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	return testpage.ReadingEase(source)
}

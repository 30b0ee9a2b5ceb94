package main_test

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/flowrun/flowrun/internal/testpage"
)

// TestLinksAndAnchorsHold follows each link of each page to a file of the tree, and to a
// heading where it names one.
func TestLinksAndAnchorsHold(t *testing.T) {
	t.Parallel()
	followed := 0
	for _, name := range pagesOfTheTree(t) {
		page := filepath.Join("../..", name)
		source, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, link := range testpage.Links(source) {
			if strings.Contains(link, "://") || strings.HasPrefix(link, "mailto:") {
				continue
			}
			followed++
			if err := follow(page, link); err != nil {
				t.Errorf("%s: the link %s: %v", name, link, err)
			}
		}
	}
	if followed < 300 {
		t.Errorf("the pages have %d links only", followed)
	}
}

// follow goes where a link of a page leads.
func follow(page, link string) error {
	target, err := url.Parse(link)
	if err != nil {
		return err
	}
	file := page
	if target.Path != "" {
		file = filepath.Join(filepath.Dir(page), filepath.FromSlash(target.Path))
	}
	if _, err := os.Stat(file); err != nil {
		return err
	}
	if target.Fragment == "" {
		return nil
	}
	source, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if !testpage.Anchors(source)[target.Fragment] {
		return fmt.Errorf("%s has no heading #%s", file, target.Fragment)
	}
	return nil
}

func TestALinkThatLeadsNowhereIsNoticed(t *testing.T) {
	t.Parallel()
	const page = "../../docs/guide.md"
	for link, holds := range map[string]bool{
		"language.md": true, "#1-one-step": true, "commands.md#name-a-run": true, "services": true,
		"languages.md": false, "#1-one-stop": false, "commands.md#name-the-run": false, "services#a": false,
	} {
		if err := follow(page, link); (err == nil) != holds {
			t.Errorf("%s: %v", link, err)
		}
	}
}

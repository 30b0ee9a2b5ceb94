package browser

import (
	"bytes"
	"image/png"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"
)

// maxImage bounds a picture of the documentation in bytes.
const maxImage = 150_000

// TestThePicturesOfTheDocumentation takes the pictures of docs/page.md anew where
// FLOWRUN_IMAGES names the folder for them (docs/images). Without it the test
// looks whether those that the page shows are there and small.
func TestThePicturesOfTheDocumentation(t *testing.T) {
	pictures := []struct {
		name, path, scheme string
		width, height      int64
	}{
		{"page-home-light-1600.png", "/", "light", 1600, 900},
		{"page-run-light-1600.png", "", "light", 1600, 1000},
		{"page-run-dark-1600.png", "", "dark", 1600, 1000},
		{"page-form-light-1600.png", "/workflows/greet", "light", 1600, 900},
		{"page-schedules-dark-1600.png", "/schedules", "dark", 1600, 760},
		{"page-login-light-1600.png", "/connections/auth", "light", 1600, 720},
		{"page-approval-light-375.png", "/approvals", "light", 375, 760},
		{"page-schedules-dark-375.png", "/schedules", "dark", 375, 760},
	}
	folder := os.Getenv("FLOWRUN_IMAGES")
	if folder == "" {
		for _, picture := range pictures {
			info, err := os.Stat(filepath.Join("..", "..", "docs", "images", picture.name))
			if err != nil || info.Size() > maxImage {
				t.Errorf("%s: %v, more than %d bytes, or not there", picture.name, err, maxImage)
			}
		}
		return
	}
	b, pages := prepared(t)
	review := ""
	for _, path := range pages {
		if filepath.Base(path) == "completed" {
			review = filepath.Dir(filepath.Dir(path))
		}
	}
	for _, picture := range pictures {
		path := picture.path
		if path == "" {
			path = review
		}
		b.size(picture.width, picture.scheme)
		b.do(chromedp.EmulateViewport(picture.width, picture.height))
		b.goTo(path)
		b.until(`document.readyState == "complete" && document.fonts.status == "loaded"`)
		shot, err := chromedp.Run(b.ctx, chromedp.CaptureScreenshot())
		if err != nil {
			t.Fatal(err)
		}
		small := reduced(t, shot)
		t.Logf("%s: %d bytes", picture.name, len(small))
		if err := os.WriteFile(filepath.Join(folder, picture.name), small, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// reduced packs a picture as small as it gets without loss.
func reduced(t *testing.T, shot []byte) []byte {
	t.Helper()
	full, err := png.Decode(bytes.NewReader(shot))
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	encoder := png.Encoder{CompressionLevel: png.BestCompression}
	if err := encoder.Encode(&out, full); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

package page

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"net/http"
	"path"
)

//go:embed static
var staticFiles embed.FS

// asset is one embedded file. hash names its content, so that browsers keep it.
type asset struct {
	body []byte
	kind string
	hash string
}

func readAssets() map[string]asset {
	kinds := map[string]string{".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml"}
	assets := map[string]asset{}
	entries, err := staticFiles.ReadDir("static")
	if err != nil {
		return assets // it is embedded: it can be read
	}
	for _, entry := range entries {
		body, err := staticFiles.ReadFile(path.Join("static", entry.Name()))
		kind := kinds[path.Ext(entry.Name())]
		if err != nil || kind == "" {
			continue
		}
		sum := sha256.Sum256(body)
		assets[entry.Name()] = asset{body: body, kind: kind, hash: hex.EncodeToString(sum[:6])}
	}
	return assets
}

// assetURL is where a page loads an asset from. It changes with the content.
func (s *site) assetURL(name string) string { return assetPath(name, s.assets[name]) }

func assetPath(name string, a asset) string { return "/static/" + name + "?v=" + a.hash }

func (s *site) static(w http.ResponseWriter, r *http.Request) {
	found, ok := s.assets[r.PathValue("file")]
	if !ok {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", found.kind)
	if r.URL.Query().Get("v") == found.hash {
		w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	_, _ = w.Write(found.body) // the reader is gone: nobody is left to tell
}

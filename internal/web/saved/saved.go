// Package saved sends files that people save: whole or the part that is asked for, and so
// that no browser runs what a service has sent.
package saved

import (
	"io"
	"mime"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"
	"unicode"
)

// File is what is sent. Name and MediaType are what somebody said of it: neither is
// believed.
type File struct {
	Content         io.ReadSeeker
	Digest          string // of the content: its ETag
	Name, MediaType string
}

// Send answers a request with the file, as an attachment. Range, If-Range and
// If-None-Match are those of RFC 9110.
func (f File) Send(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	header.Set("Content-Type", inert(f.MediaType))
	header.Set("Content-Disposition", attachment(f.Name))
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Content-Security-Policy", "default-src 'none'; sandbox")
	header.Set("Cache-Control", "private, no-cache")
	header.Set("ETag", `"`+f.Digest+`"`)
	http.ServeContent(w, r, "", time.Time{}, f.Content)
}

// inertTypes are media types that a browser shows, or saves, and never runs.
var inertTypes = []string{
	"application/gzip", "application/json", "application/octet-stream", "application/pdf", "application/zip", "application/x-ndjson", "application/zstd",
	"image/gif", "image/jpeg", "image/png", "image/webp", "text/csv", "text/plain", "text/tab-separated-values",
}

// inert is a media type as it is sent: application/octet-stream for one that may be run.
func inert(mediaType string) string {
	kind, parameters, err := mime.ParseMediaType(mediaType)
	if err != nil || !slices.Contains(inertTypes, kind) {
		return "application/octet-stream"
	}
	if charset := parameters["charset"]; strings.HasPrefix(kind, "text/") && charset != "" {
		return mime.FormatMediaType(kind, map[string]string{"charset": charset})
	}
	return kind
}

// attachment is a Content-Disposition with a name that leads nowhere: the last part of a
// path, without control characters, quotes and what file systems take for something else.
func attachment(name string) string {
	name = path.Base(strings.ReplaceAll(strings.ToValidUTF8(name, "_"), `\`, "/"))
	name = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || strings.ContainsRune(`"/\:*?<>|%;`, r):
			return '_'
		}
		return r
	}, name)
	name = strings.Trim(name, ". ")
	if runes := []rune(name); len(runes) > 120 {
		name = string(runes[len(runes)-120:])
	}
	if name == "" {
		name = "download"
	}
	ascii := strings.Map(func(r rune) rune {
		if r > unicode.MaxASCII {
			return '_'
		}
		return r
	}, name)
	disposition := `attachment; filename="` + ascii + `"`
	if ascii != name {
		disposition += "; filename*=UTF-8''" + strings.ReplaceAll(url.QueryEscape(name), "+", "%20")
	}
	return disposition
}

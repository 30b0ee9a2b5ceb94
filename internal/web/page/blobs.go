package page

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	large "github.com/flowrun/flowrun/engine/content"
	files "github.com/flowrun/flowrun/internal/web/saved"
)

// maxBlobLinks bounds the large values of one value that are listed.
const maxBlobLinks = 20

// blobLink is a large value as it is listed below the value that refers to it.
type blobLink struct {
	Name, Type, Size string
	Save             string // where it is
}

// blobLinks lists the large values that a value of a run refers to.
func blobLinks(run string, raw json.RawMessage) (links []blobLink) {
	const most = 1 << 20
	if len(raw) > most || !strings.Contains(string(raw), `"digest"`) {
		return nil
	}
	if ref, is := large.ParseReference(raw); is {
		query := url.Values{"name": {ref.Name}, "type": {ref.MediaType}}
		return []blobLink{{
			Name: ref.Name, Type: ref.MediaType, Size: sizeText(ref.Size),
			Save: runURL(run) + "/blobs/" + url.PathEscape(ref.Digest) + "?" + query.Encode(),
		}}
	}
	var list []json.RawMessage
	var object map[string]json.RawMessage
	if json.Unmarshal(raw, &list) != nil && json.Unmarshal(raw, &object) != nil {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(object)) {
		list = append(list, object[name])
	}
	for _, part := range list {
		if links = append(links, blobLinks(run, part)...); len(links) > maxBlobLinks {
			return links[:maxBlobLinks]
		}
	}
	return links
}

// sizeText is a size for people, with one digit behind the point.
func sizeText(bytes int64) string {
	const unit = 1024
	if bytes < unit {
		return fmt.Sprintf("%d bytes", bytes)
	}
	size, names := float64(bytes)/unit, []string{"KiB", "MiB", "GiB", "TiB"}
	for size >= unit && len(names) > 1 {
		size, names = size/unit, names[1:]
	}
	return fmt.Sprintf("%.1f %s", size, names[0])
}

// saveBlob sends a large value of a run.
func (s *site) saveBlob(w http.ResponseWriter, r *http.Request) {
	id, err := runID(r)
	if err == nil {
		digest := r.PathValue("digest")
		reader, opened := s.Engine.OpenBlob(r.Context(), id, digest)
		if err = opened; err == nil {
			defer func() { _ = reader.Close() }() // it was read
			files.File{
				Content: io.NewSectionReader(reader, 0, reader.Size()), Digest: digest, Name: r.FormValue("name"), MediaType: r.FormValue("type"),
			}.Send(w, r)
			return
		}
	}
	s.write(w, r, s.problem(r, err))
}

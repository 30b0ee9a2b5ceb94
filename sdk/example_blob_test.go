package sdk_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/flowrun/flowrun/sdk"
	"github.com/flowrun/flowrun/sdk/sdktest"
)

type ExportIn struct {
	URL string `json:"url" format:"uri"`
}

type ExportOut struct {
	File sdk.Blob `json:"file"`
}

// export downloads a file, and goes on where an attempt before it stood.
func export(c *sdk.Call[struct{}], in ExportIn) (out ExportOut, err error) {
	w, err := c.NewBlob(sdk.BlobOptions{Name: "export.csv", MediaType: "text/csv"})
	if err != nil {
		return out, err
	}
	if file, done := w.Finished(); done {
		return ExportOut{File: file}, nil
	}
	request, err := http.NewRequestWithContext(c, http.MethodGet, in.URL, nil)
	if err != nil {
		return out, err
	}
	if w.Size() > 0 {
		request.Header.Set("Range", fmt.Sprintf("bytes=%d-", w.Size()))
		request.Header.Set("If-Range", string(w.Note()))
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return out, &sdk.Error{Code: sdk.CodeUnavailable, Message: "the service does not answer"}
	}
	defer response.Body.Close()
	switch response.StatusCode {
	case http.StatusPartialContent:
	case http.StatusOK:
		w.Restart() // the whole: it is another file by now
	default:
		return out, &sdk.Error{Code: sdk.CodeUnavailable, Message: response.Status}
	}
	w.SetNote([]byte(response.Header.Get("ETag")))
	if _, err := io.Copy(w, response.Body); err != nil {
		return out, &sdk.Error{Code: sdk.CodeUnavailable, Message: "the download broke off"}
	}
	out.File, err = w.Finish()
	return out, err
}

func exporter() *sdk.Plugin {
	return sdk.New("exporter", "1.0.0", "Exports", sdk.Read("export", "Download an export", export))
}

// TestADownloadGoesOnWhereItBroke by Range and ETag, against the server of net/http; a file
// that changed begins anew.
func TestADownloadGoesOnWhereItBroke(t *testing.T) {
	file, etag, limit := bytes.Repeat([]byte("a;b;c\n"), 500_000), `"1"`, 1_500_000
	var asked []string
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.Header.Get("Range"))
		w.Header().Set("ETag", etag)
		http.ServeContent(&breaking{w, limit}, r, "export.csv", time.Time{}, bytes.NewReader(file))
	}))
	defer service.Close()
	p := sdktest.Open(t, exporter(), nil)
	run := func(key string) (out ExportOut, err *sdk.Error) {
		result := p.Call("export", ExportIn{URL: service.URL}, sdktest.Key(key))
		if result.Err == nil {
			result.Decode(t, &out)
		}
		return out, result.Err
	}
	for _, key := range []string{"same", "changed"} {
		limit = 1_500_000
		if _, err := run(key); err == nil || !strings.Contains(err.Message, "broke off") {
			t.Fatalf("%s: %v", key, err)
		}
		if sent, note := p.Host().Upload(key, ""); len(sent) == 0 || len(sent) > 1_500_000 || string(note) != `"1"` {
			t.Fatalf("%s: %d bytes are kept, %s", key, len(sent), note)
		}
		limit = len(file) + 1
		if key == "changed" {
			file, etag = bytes.Repeat([]byte("d;e;f\n"), 400_000), `"2"`
		}
		out, err := run(key)
		if err != nil || !bytes.Equal(p.Host().Blob(out.File), file) {
			t.Errorf("%s: %d bytes, %v", key, out.File.Size, err)
		}
	}
	if len(asked) != 4 || asked[0] != "" || !strings.HasPrefix(asked[1], "bytes=1") {
		t.Errorf("asked for %q", asked)
	}
}

// breaking cuts a connection after so many bytes.
type breaking struct {
	http.ResponseWriter
	left int
}

func (b *breaking) Write(p []byte) (int, error) {
	if len(p) > b.left {
		_, _ = b.ResponseWriter.Write(p[:b.left])
		panic(http.ErrAbortHandler)
	}
	b.left -= len(p)
	return b.ResponseWriter.Write(p)
}

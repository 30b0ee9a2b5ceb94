package sdk

import (
	"cmp"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
)

// maxDownloadHeaders bounds what is remembered of the headers of a download that goes on
// later, in bytes.
const maxDownloadHeaders = 2 << 10

// progressEach is after how many bytes a download says how far it is.
const progressEach = 16 << 20

// Download reads the answer of a request into a large value, part by part, and goes on
// where an attempt before was cut off: it asks for the rest (Range) as long as the service
// says that the thing is the same (If-Range with a strong ETag, or a Last-Modified), else
// for all of it. The size is held against what the service says, the content against its
// Repr-Digest. The answer of what is no GET begins anew each time. do sends the request, as HTTPClient.Do does. What options leaves out, name
// and media type, is that of the answer. Errors are those of do, of the host, or about the
// answer; after one of them the next attempt of the call goes on.
func (c *Call[C]) Download(request *Request, options BlobOptions, do func(*Request) (*Response, error)) (Blob, *Response, error) {
	w, err := c.NewBlob(options)
	if err != nil {
		return Blob{}, nil, err
	}
	d := &download{core: c.core, w: w, options: options, expected: -1}
	d.remember()
	if _, done := w.Finished(); !done && !isRead(cmp.Or(request.Method, http.MethodGet)) {
		w.Restart()
	}
	if blob, done := w.Finished(); done {
		if want := reprDigest(d.note.Header); d.note.Status != 0 && (want == "" || want == blob.Digest) {
			d.name(d.known())
			blob.MediaType, blob.Name = d.w.options.MediaType, d.w.options.Name
			return blob, d.known(), nil
		}
		w.Restart()
	}
	response, err := d.ask(request, do)
	if errors.Is(err, errAnew) {
		w.Restart()
		response, err = d.ask(request, do)
	}
	switch {
	case errors.Is(err, errAnew):
		return Blob{}, nil, Errorf(CodeUnexpectedResponse, "the service answers with a part that was not asked for")
	case err != nil:
		return Blob{}, nil, err
	}
	blob, err := d.finish(response)
	if response.Status == http.StatusPartialContent {
		response = d.known()
	}
	return blob, response, err
}

// known is the answer that the download began with.
func (d *download) known() *Response { return d.core.known(d.note.Status, d.note.Header, d.note.URL) }

// download is one attempt of a download.
type download struct {
	core     *core
	w        *BlobWriter
	options  BlobOptions
	note     downloadNote
	expected int64 // bytes of the whole; -1 = the service does not say
	told     int64 // up to where progress was told
}

// downloadNote is what an attempt leaves for the next one.
type downloadNote struct {
	ETag     string      `json:"etag,omitempty"`
	Modified string      `json:"modified,omitempty"`
	Status   int         `json:"status"`
	Header   http.Header `json:"header,omitempty"`
	URL      string      `json:"url,omitempty"`
}

// errAnew says that what is there is not the begin of what the service has.
var errAnew = errors.New("the answer is of something else")

// remember reads the note of an attempt before. What can't be held against the service
// any more is dropped.
func (d *download) remember() {
	if json.Unmarshal(d.w.Note(), &d.note) != nil {
		d.note = downloadNote{}
	}
	if _, done := d.w.Finished(); !done && d.w.Size() > 0 && d.note.validator() == "" {
		d.w.Restart()
	}
}

// validator is what tells whether the thing is still the same, as If-Range takes it.
func (n downloadNote) validator() string {
	if n.ETag != "" {
		return n.ETag
	}
	return n.Modified
}

// ask sends the request, for the rest where there is a begin.
func (d *download) ask(request *Request, do func(*Request) (*Response, error)) (*Response, error) {
	own := *request
	if own.Header = request.Header.Clone(); own.Header == nil {
		own.Header = http.Header{}
	}
	from := d.w.Size()
	if from > 0 {
		own.Header.Set("Range", "bytes="+strconv.FormatInt(from, 10)+"-")
		own.Header.Set("If-Range", d.note.validator())
		own.Accept = append([]int{http.StatusRequestedRangeNotSatisfiable}, request.Accept...)
	}
	own.Take = func(head *Response, body io.Reader) error { return d.take(head, body, from) }
	response, err := do(&own)
	if err != nil {
		return nil, err
	}
	if from > 0 && response.Status == http.StatusRequestedRangeNotSatisfiable {
		if _, total, ok := contentRange(response.Header); !ok || total != from {
			return nil, errAnew
		}
		d.expected = from // all of it was there
		return d.known(), nil
	}
	return response, nil
}

// take reads the body of an answer: the rest of what is there, or all of it.
func (d *download) take(head *Response, body io.Reader, from int64) error {
	switch {
	case head.Status != http.StatusPartialContent:
		d.w.Restart()
		d.expected = contentLength(head.Header)
		d.note = noteOf(head)
		if encoded, err := json.Marshal(d.note); err == nil {
			d.w.SetNote(encoded)
		}
	default:
		start, total, ok := contentRange(head.Header)
		if etag := head.Header.Get("ETag"); !ok || from == 0 || start != from || d.note.ETag != "" && etag != "" && etag != d.note.ETag {
			return errAnew
		}
		d.expected = total
	}
	d.name(head)
	_, err := d.w.ReadFrom(&told{body: body, d: d})
	return err
}

// name says what the value is, where the caller did not.
func (d *download) name(head *Response) {
	mediaType, _, err := mime.ParseMediaType(head.Header.Get("Content-Type"))
	if d.options.MediaType == "" && err == nil {
		d.w.options.MediaType = mediaType
	}
	if d.options.Name != "" {
		return
	}
	name := ""
	if _, parameters, err := mime.ParseMediaType(head.Header.Get("Content-Disposition")); err == nil {
		name = parameters["filename"]
	}
	if name == "" && head.url != nil {
		name = head.url.Path
	}
	d.w.options.Name = fileName(name)
}

// fileName is the last part of a path, as a name that hurts nobody: without control
// characters and separators, at most 200 bytes. "" = there is none.
func fileName(name string) string {
	name = path.Base(strings.ReplaceAll(strings.ToValidUTF8(name, "\uFFFD"), `\`, "/"))
	name = strings.TrimSpace(cut(plain(name), 200))
	if name == "." || name == ".." || name == "/" {
		return ""
	}
	return name
}

// told passes a body on, and says how far it is.
type told struct {
	body io.Reader
	d    *download
	read int64
}

// Read is that of io.Reader.
func (t *told) Read(p []byte) (int, error) {
	n, err := t.body.Read(p)
	t.read += int64(n)
	if t.read-t.d.told >= progressEach {
		t.d.told = t.read
		t.d.progress()
	}
	return n, err
}

func (d *download) progress() {
	size := d.w.Size()
	if d.expected > 0 {
		d.core.events.progress(min(1, float64(size)/float64(d.expected)), fmt.Sprintf("%d of %d MiB", size>>20, d.expected>>20))
		return
	}
	d.core.events.progress(0, fmt.Sprintf("%d MiB", size>>20))
}

// finish ends the value, and holds it against what the service says of it.
func (d *download) finish(response *Response) (Blob, error) {
	if size := d.w.Size(); d.expected >= 0 && size != d.expected {
		return Blob{}, response.Fail(CodeUnavailable, "the answer has %d bytes, and %d were announced", size, d.expected)
	}
	blob, err := d.w.Finish()
	if err != nil {
		return Blob{}, err
	}
	if want := reprDigest(response.Header); want != "" && want != blob.Digest {
		d.w.Restart()
		return Blob{}, response.Fail(CodeUnexpectedResponse, "the content has the digest %s, and the service says %s", blob.Digest, want)
	}
	return blob, nil
}

// noteOf is what a later attempt needs of an answer.
func noteOf(head *Response) downloadNote {
	note := downloadNote{Status: head.Status, Header: http.Header{}, URL: head.URL()}
	if etag := head.Header.Get("ETag"); etag != "" && !strings.HasPrefix(etag, "W/") {
		note.ETag = etag
	}
	modified, err := http.ParseTime(head.Header.Get("Last-Modified"))
	date, dateErr := http.ParseTime(head.Header.Get("Date"))
	if err == nil && dateErr == nil && date.Sub(modified) >= time.Minute { // else it may change within its second (RFC 9110, 8.8.2.2)
		note.Modified = head.Header.Get("Last-Modified")
	}
	left := maxDownloadHeaders
	first := []string{"Content-Type", "Content-Disposition", "Content-Length", "Repr-Digest", "Digest", "Last-Modified", "Etag"}
	for _, name := range append(first, slices.Sorted(maps.Keys(head.Header))...) {
		values := head.Header[name]
		if len(values) == 0 || len(note.Header[name]) > 0 || name == "Set-Cookie" {
			continue
		}
		size := len(name)
		for _, value := range values {
			size += len(value) + 8
		}
		if size <= left {
			left, note.Header[name] = left-size, values
		}
	}
	return note
}

// contentLength is what a header says of the size of a whole body; -1 = nothing.
func contentLength(header http.Header) int64 {
	n, err := strconv.ParseInt(header.Get("Content-Length"), 10, 64)
	if err != nil || n < 0 || header.Get("Content-Encoding") != "" {
		return -1
	}
	return n
}

// contentRange reads "bytes 5-9/10", and "bytes */10"; a total of -1 is not known.
func contentRange(header http.Header) (start, total int64, ok bool) {
	text, found := strings.CutPrefix(header.Get("Content-Range"), "bytes ")
	span, whole, parted := strings.Cut(text, "/")
	if !found || !parted {
		return 0, 0, false
	}
	total = -1
	if whole != "*" {
		n, err := strconv.ParseInt(whole, 10, 64)
		if err != nil || n < 0 {
			return 0, 0, false
		}
		total = n
	}
	if span == "*" {
		return 0, total, true
	}
	first, _, _ := strings.Cut(span, "-")
	start, err := strconv.ParseInt(first, 10, 64)
	return start, total, err == nil && start >= 0
}

// reprDigest is the SHA-256 of the whole content that a service gives (RFC 9530, and the
// field Digest before it), as digests of large values are written; "" = it gives none.
func reprDigest(header http.Header) string {
	for _, field := range []struct{ name, begin, end string }{{"Repr-Digest", "sha-256=:", ":"}, {"Digest", "sha-256=", ""}} {
		for _, item := range strings.Split(strings.Join(header.Values(field.name), ","), ",") {
			item = strings.TrimSpace(item)
			if len(item) < len(field.begin) || !strings.EqualFold(item[:len(field.begin)], field.begin) {
				continue
			}
			sum, err := base64.StdEncoding.DecodeString(strings.TrimSuffix(item[len(field.begin):], field.end))
			if err == nil && len(sum) == 32 {
				return "sha256:" + hex.EncodeToString(sum)
			}
		}
	}
	return ""
}

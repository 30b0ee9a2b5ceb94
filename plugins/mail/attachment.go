package mail

import (
	"bytes"
	"encoding/base64"
	"io"
	"mime"
	"net/textproto"
	"path"
	"strings"

	mailer "github.com/wneessen/go-mail"

	"github.com/flowrun/flowrun/sdk"
)

// Lines of base64 in a message (RFC 2045, 6.8): bytes that one holds, and its length.
const (
	lineBytes  = 57
	lineLength = 76
)

// segment is a part of a message: bytes as they stand, or an attached file, which is encoded
// when it is sent, so that a large one is never in memory.
type segment struct {
	bytes []byte
	file  *attachment
}

// size is how many bytes of the message the segment has.
func (s segment) size() int64 {
	if s.file == nil {
		return int64(len(s.bytes))
	}
	length := (s.file.size() + 2) / 3 * 4
	lines := (length + lineLength - 1) / lineLength
	return length + 2*max(lines-1, 0) // a line end follows in the message itself
}

// size is how many bytes the file has.
func (a attachment) size() int64 {
	switch {
	case a.Blob != nil:
		return a.Blob.Size
	case a.Base64 != nil:
		return int64(base64.StdEncoding.DecodedLen(len(*a.Base64)) - strings.Count(lastOf(*a.Base64, 2), "="))
	case a.Text != nil:
		return int64(len(*a.Text))
	}
	return 0
}

// lastOf is the end of a text.
func lastOf(text string, most int) string { return text[max(len(text)-most, 0):] }

// open reads the file's content.
func (a attachment) open(c *call) (io.ReadCloser, error) {
	switch {
	case a.Blob != nil:
		return c.OpenBlob(*a.Blob)
	case a.Base64 != nil:
		return io.NopCloser(base64.NewDecoder(base64.StdEncoding, strings.NewReader(*a.Base64))), nil
	case a.Text != nil:
		return io.NopCloser(strings.NewReader(*a.Text)), nil
	}
	return io.NopCloser(strings.NewReader("")), nil
}

// fileName is the name of the attached file: that of the large value where the step says
// none.
func (a attachment) fileName() string {
	if a.Name == "" && a.Blob != nil {
		return a.Blob.Name
	}
	return a.Name
}

// contentType is the media type of the file: what the step says, what the large value is, or
// what the name says.
func (a attachment) contentType() string {
	mediaType := a.MediaType
	if mediaType == "" && a.Blob != nil {
		mediaType = a.Blob.MediaType
	}
	if mediaType == "" {
		mediaType = typeOf(a.fileName())
	}
	if mediaType == "" && a.Text != nil {
		mediaType = "text/plain"
	}
	kind, params, err := mime.ParseMediaType(mediaType)
	if err != nil || strings.HasPrefix(kind, "multipart/") || strings.HasPrefix(kind, "message/") {
		kind, params = "application/octet-stream", map[string]string{}
	}
	if a.Text != nil && strings.HasPrefix(kind, "text/") {
		params["charset"] = "utf-8"
	}
	return mime.FormatMediaType(kind, params)
}

// places are texts that no message has, one for each attached file: where it is put in.
func (p *plugin) places(count int) ([]string, error) {
	places := make([]string, count)
	for i := range places {
		number := make([]byte, 24)
		if _, err := io.ReadFull(p.random, number); err != nil {
			return nil, sdk.Refused(sdk.CodeInternal, "mark the place of an attached file: %v", err)
		}
		places[i] = base64.StdEncoding.EncodeToString(number) // one line
	}
	return places, nil
}

// attach gives a file its headers and its place. The name is written as RFC 2231 says, which
// the library does not.
func attach(out *mailer.Msg, file attachment, place string) {
	content, _ := base64.StdEncoding.DecodeString(place) // as places encoded it
	out.AttachReadSeeker("attachment", bytes.NewReader(content), func(made *mailer.File) {
		made.Header = textproto.MIMEHeader{
			"Content-Type":              {file.contentType()},
			"Content-Disposition":       {mime.FormatMediaType("attachment", map[string]string{"filename": file.fileName()})},
			"Content-Transfer-Encoding": {"base64"},
		}
	})
}

// cutAt cuts a message at the places of its files.
func cutAt(message []byte, places []string, files []attachment) ([]segment, error) {
	var segments []segment
	for i, place := range places {
		before, after, found := bytes.Cut(message, []byte(place))
		if !found {
			return nil, sdk.Refused(sdk.CodeInternal, "the message has no place for attached file %d", i+1)
		}
		segments = append(segments, segment{bytes: before}, segment{file: &files[i]})
		message = after
	}
	return append(segments, segment{bytes: message}), nil
}

// send writes the segment.
func (s segment) send(c *call, to io.Writer) error {
	if s.file == nil {
		_, err := to.Write(s.bytes)
		return err
	}
	content, err := s.file.open(c)
	if err != nil {
		return sourceError{err}
	}
	defer func() { _ = content.Close() }()
	line := make([]byte, 2+lineLength)
	copy(line, "\r\n")
	chunk := make([]byte, lineBytes)
	for first := true; ; first = false {
		n, err := io.ReadFull(content, chunk)
		if n > 0 {
			encoded := line[:2+base64.StdEncoding.EncodedLen(n)]
			base64.StdEncoding.Encode(encoded[2:], chunk[:n])
			if first {
				encoded = encoded[2:]
			}
			if _, err := to.Write(encoded); err != nil {
				return err
			}
		}
		switch err {
		case nil:
		case io.EOF, io.ErrUnexpectedEOF:
			return nil
		default:
			return sourceError{err}
		}
	}
}

// sourceError is why the content of a file could not be read.
type sourceError struct{ error }

// Unwrap is the cause.
func (e sourceError) Unwrap() error { return e.error }

// typeOf is the media type of a file's name, "" where it is not known. The table is the
// plugin's own: that of the machine differs from one to the next.
func typeOf(name string) string {
	return map[string]string{
		".csv": "text/csv", ".txt": "text/plain", ".log": "text/plain", ".md": "text/markdown", ".html": "text/html", ".ics": "text/calendar", ".xml": "application/xml",
		".json": "application/json", ".yaml": "application/yaml", ".yml": "application/yaml", ".pdf": "application/pdf", ".zip": "application/zip", ".gz": "application/gzip",
		".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".gif": "image/gif", ".svg": "image/svg+xml",
		".xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", ".docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
	}[strings.ToLower(path.Ext(name))]
}

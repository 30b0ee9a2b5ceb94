package http

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"mime/multipart"
	"net/textproto"
	"slices"
	"strconv"
	"strings"

	"github.com/flowrun/flowrun/sdk"
)

// forms are the names of the forms of a body that are given.
func (b body) forms() []string {
	var given []string
	for _, form := range []struct {
		name string
		set  bool
	}{
		{"json", !sdk.IsNull(b.JSON)}, {"form", b.Form != nil}, {"multipart", b.Multipart != nil}, {"text", b.Text != nil}, {"base64", b.Base64 != nil}, {"blob", b.Blob != nil},
	} {
		if form.set {
			given = append(given, form.name)
		}
	}
	return given
}

// payload is the body as bytes, with its media type; nil = none.
func (b body) payload(hidden secrets, lists string) (content []byte, contentType string, err error) {
	switch {
	case !sdk.IsNull(b.JSON) || len(hidden.JSON) > 0:
		content, err := withSecrets(b.JSON, hidden.JSON)
		return content, or(b.ContentType, "application/json"), err
	case b.Form != nil || len(hidden.Form) > 0:
		values := parameters(b.Form, lists)
		for name, value := range hidden.Form {
			values.Set(name, value)
		}
		return []byte(values.Encode()), "application/x-www-form-urlencoded", nil
	case b.Text != nil:
		return []byte(*b.Text), or(b.ContentType, "text/plain; charset=utf-8"), nil
	case b.Base64 != nil:
		content, err := base64.StdEncoding.DecodeString(*b.Base64)
		if err != nil {
			return nil, "", sdk.Invalid("/base64", "is no base64")
		}
		return notNil(content), or(b.ContentType, "application/octet-stream"), nil
	}
	return nil, "", nil
}

func or(text, otherwise string) string {
	if text != "" {
		return text
	}
	return otherwise
}

// notNil tells a body without bytes from none.
func notNil(content []byte) []byte {
	if content == nil {
		return []byte{}
	}
	return content
}

// withSecrets puts secrets into a JSON body, at their pointers. Objects on the way are
// made; what stands there already is replaced.
func withSecrets(document sdk.Value, hidden map[string]string) ([]byte, error) {
	if len(hidden) == 0 {
		return document, nil
	}
	if sdk.IsNull(document) {
		document = sdk.Value("{}")
	}
	for _, pointer := range slices.Sorted(maps.Keys(hidden)) {
		var err error
		if document, err = putAt(document, pointer, sdk.Text(hidden[pointer])); err != nil {
			return nil, sdk.Invalid(sdk.Pointer("secrets", "json", pointer), "%s", err.Error())
		}
	}
	return document, nil
}

// putAt puts a value at a JSON Pointer of a document.
func putAt(document sdk.Value, pointer string, value sdk.Value) (sdk.Value, error) {
	if pointer == "" {
		return value, nil
	}
	if pointer[0] != '/' {
		return nil, fmt.Errorf("is no JSON Pointer: write /user/password")
	}
	token, rest, more := strings.Cut(pointer[1:], "/")
	if rest = "/" + rest; !more {
		rest = ""
	}
	token = unescapePointer(token)
	if document != nil && bytes.TrimSpace(document)[0] == '[' {
		var list []sdk.Value
		index, err := strconv.Atoi(token)
		if err != nil || json.Unmarshal(document, &list) != nil || index < 0 || index >= len(list) {
			return nil, fmt.Errorf("points at no element of its list")
		}
		if list[index], err = putAt(list[index], rest, value); err != nil {
			return nil, err
		}
		return json.Marshal(list)
	}
	members, isObject := sdk.ReadMembers(document)
	if document != nil && !isObject {
		return nil, fmt.Errorf("points into something that is no object and no list")
	}
	inner, err := putAt(members.Get(token), rest, value)
	if err != nil {
		return nil, err
	}
	return members.With(token, inner).JSON(), nil
}

func unescapePointer(token string) string {
	return strings.NewReplacer("~1", "/", "~0", "~").Replace(token)
}

// multipartBody writes multipart/form-data, without the large values in it, which stand at
// splits. The boundary is made of the content, so that the same parts are the same bytes on
// every attempt.
func multipartBody(parts []part) (content []byte, splits []split, contentType string, err error) {
	contents, sum := make([][]byte, len(parts)), sha256.New()
	for i, p := range parts {
		if contents[i], err = p.content(); err != nil {
			return nil, nil, "", sdk.Invalid(sdk.Pointer("multipart", i), "%s", err.Error())
		}
		fmt.Fprintf(sum, "%d %d %s", len(p.Name), len(contents[i]), contents[i])
		if p.Blob != nil {
			fmt.Fprintf(sum, "%d %s", p.Blob.Size, p.Blob.Digest)
		}
	}
	var out bytes.Buffer
	w := multipart.NewWriter(&out)
	if err := w.SetBoundary("flowrun-" + hex.EncodeToString(sum.Sum(nil))[:48]); err != nil {
		return nil, nil, "", fmt.Errorf("write a multipart body: %w", err)
	}
	for i, p := range parts {
		header, err := w.CreatePart(p.header())
		if err == nil {
			_, err = header.Write(contents[i])
		}
		if err != nil {
			return nil, nil, "", fmt.Errorf("write part %d of a multipart body: %w", i, err)
		}
		if p.Blob != nil {
			splits = append(splits, split{at: out.Len(), blob: *p.Blob})
		}
	}
	if err := w.Close(); err != nil {
		return nil, nil, "", fmt.Errorf("write a multipart body: %w", err)
	}
	return out.Bytes(), splits, w.FormDataContentType(), nil
}

// content is the part's value; its error says what is wrong with the part.
func (p part) content() ([]byte, error) {
	given := 0
	for _, set := range []bool{p.Text != nil, !sdk.IsNull(p.JSON), p.Base64 != nil, p.Blob != nil} {
		if set {
			given++
		}
	}
	switch {
	case given != 1:
		return nil, fmt.Errorf("must have exactly one of text, json, base64 and blob")
	case p.Blob != nil:
		return nil, nil
	case p.Text != nil:
		return []byte(*p.Text), nil
	case p.Base64 == nil:
		return p.JSON, nil
	}
	content, err := base64.StdEncoding.DecodeString(*p.Base64)
	if err != nil {
		return nil, fmt.Errorf("has a base64 that is none")
	}
	return content, nil
}

// header are the headers of a part. Line breaks and quotes in names are escaped as
// browsers do it.
func (p part) header() textproto.MIMEHeader {
	escape := strings.NewReplacer("\r", "%0D", "\n", "%0A", `"`, "%22").Replace
	disposition := `form-data; name="` + escape(p.Name) + `"`
	filename := p.Filename
	if filename == "" && p.Blob != nil {
		filename = or(p.Blob.Name, "file")
	}
	if filename != "" {
		disposition += `; filename="` + escape(filename) + `"`
	}
	header := textproto.MIMEHeader{"Content-Disposition": {disposition}}
	contentType := p.ContentType
	switch {
	case contentType != "":
	case !sdk.IsNull(p.JSON):
		contentType = "application/json"
	case p.Blob != nil && p.Blob.MediaType != "":
		contentType = p.Blob.MediaType
	case filename != "":
		contentType = "application/octet-stream"
	}
	if contentType != "" {
		header.Set("Content-Type", contentType)
	}
	return header
}

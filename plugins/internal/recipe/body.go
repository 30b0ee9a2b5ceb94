package recipe

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/textproto"
	"net/url"

	"github.com/flowrun/flowrun/sdk"
)

// add puts the body of an input into the request.
func (b *Body) add(request *sdk.Request, fields sdk.Members) error {
	if b == nil {
		return nil
	}
	value := b.value(fields)
	if value == nil {
		return nil
	}
	pointer := ""
	if b.Input != "" {
		pointer = sdk.Pointer(b.Input)
	}
	request.ContentType = b.Media
	switch b.Kind {
	case BodyForm:
		form, err := b.form(value)
		if err != nil {
			return at(pointer, err)
		}
		request.ContentType = ""
		request.Form = form
	case BodyMultipart:
		return b.multipart(request, value, pointer)
	case BodyText:
		request.Body, request.ContentType = []byte(text(value)), cmp.Or(b.Media, "text/plain; charset=utf-8")
	case BodyBytes:
		content, err := base64.StdEncoding.DecodeString(text(value))
		if err != nil {
			return sdk.Invalid(pointer, "must be Base64: %v", err)
		}
		request.Body, request.ContentType = content, cmp.Or(b.Media, "application/octet-stream")
	default:
		request.Body, request.ContentType = value, cmp.Or(b.Media, "application/json")
	}
	return nil
}

// value is what the body is made of, nil for none.
func (b *Body) value(fields sdk.Members) sdk.Value {
	if b.Input != "" {
		return fields.Get(b.Input)
	}
	object := sdk.Members{}
	for _, name := range b.Members {
		if value := fields.Get(name); value != nil {
			object = append(object, sdk.Member{Name: name, Value: value})
		}
	}
	return object.JSON()
}

func (b *Body) form(value sdk.Value) (url.Values, error) {
	members, ok := sdk.ReadMembers(value)
	if !ok {
		return nil, sdk.Invalid("", "must be an object: it is sent as a form")
	}
	form := url.Values{}
	for _, member := range members {
		if sdk.IsNull(member.Value) {
			continue
		}
		kind, known := b.Parts[member.Name]
		p := Param{Name: member.Name, Style: kind.Style, Explode: kind.Explode || !known}
		if nested, ok := sdk.ReadMembers(member.Value); ok && p.Style == "" {
			for _, one := range deep(member.Name, nested) {
				form.Add(one.name, one.text)
			}
			continue
		}
		for _, one := range p.pairs(member.Value) {
			form.Add(one.name, one.text)
		}
	}
	return form, nil
}

// multipart writes a body of parts. The boundary follows from what is sent, so that the
// same input makes the same bytes.
func (b *Body) multipart(request *sdk.Request, value sdk.Value, pointer string) error {
	members, ok := sdk.ReadMembers(value)
	if !ok {
		return sdk.Invalid(pointer, "must be an object: it is sent in parts")
	}
	var out bytes.Buffer
	writer := multipart.NewWriter(&out)
	sum := sha256.Sum256(value)
	if err := writer.SetBoundary("part-" + hex.EncodeToString(sum[:16])); err != nil {
		return fmt.Errorf("make the body's boundary: %w", err)
	}
	for _, member := range members {
		items, several := list(member.Value)
		if !several {
			items = []sdk.Value{member.Value}
		}
		for i, item := range items {
			place := pointer + sdk.Pointer(member.Name)
			if several {
				place += sdk.Pointer(i)
			}
			if err := writePart(writer, member.Name, item, b.Parts[member.Name]); err != nil {
				return at(place, err)
			}
		}
	}
	if err := writer.Close(); err != nil {
		return fmt.Errorf("end the body: %w", err)
	}
	request.Body, request.ContentType = out.Bytes(), writer.FormDataContentType()
	return nil
}

// file is a part that is a file: what the input has for it.
type file struct {
	Name   string  `json:"name"`
	Text   *string `json:"text"`
	Base64 *string `json:"base64"`
	Type   string  `json:"type"`
}

func (f file) content() ([]byte, error) {
	switch {
	case f.Text != nil && f.Base64 != nil:
		return nil, sdk.Invalid("", "must have text or base64, not both")
	case f.Text != nil:
		return []byte(*f.Text), nil
	case f.Base64 == nil:
		return nil, sdk.Invalid("", "must have text or base64")
	}
	content, err := base64.StdEncoding.DecodeString(*f.Base64)
	if err != nil {
		return nil, sdk.Invalid("", "base64 can't be read: %v", err)
	}
	return content, nil
}

// writePart writes one part: a file, a text, or any other value as JSON.
func writePart(writer *multipart.Writer, name string, value sdk.Value, kind PartKind) error {
	if sdk.IsNull(value) {
		return nil
	}
	header := textproto.MIMEHeader{}
	disposition := map[string]string{"name": name}
	content := []byte(text(value))
	media := kind.Media
	switch _, isObject := sdk.ReadMembers(value); {
	case kind.File:
		var f file
		if err := json.Unmarshal(value, &f); err != nil {
			return sdk.Invalid("", "must be a file: an object with name, and text or base64")
		}
		var err error
		if content, err = f.content(); err != nil {
			return err
		}
		disposition["filename"] = cmp.Or(f.Name, name)
		media = cmp.Or(f.Type, kind.Media, "application/octet-stream")
	case isObject:
		media = cmp.Or(kind.Media, "application/json")
	}
	header.Set("Content-Disposition", mime.FormatMediaType("form-data", disposition))
	if media != "" {
		if !sdk.IsHeaderValue(media) {
			return sdk.Invalid("", "its type is no media type")
		}
		header.Set("Content-Type", media)
	}
	part, err := writer.CreatePart(header)
	if err != nil {
		return fmt.Errorf("begin a part: %w", err)
	}
	if _, err := io.Copy(part, bytes.NewReader(content)); err != nil {
		return fmt.Errorf("write a part: %w", err)
	}
	return nil
}

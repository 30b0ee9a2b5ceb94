package pluginhost

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/pluginhost/gate"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/schema"
)

// What plugins leave for themselves is sealed where it comes in and opened where it
// goes back to the plugin: in between, in memory, journal, cache, backup and export,
// it is bytes that say nothing (ADR 27). A cursor is a text that expressions read, too
// (`next_cursor` of a reading that was cut off): it is sealed where it holds a secret.

// The fields that places are named by.
const (
	opaqueCheckpoint = "checkpoint"
	opaqueWatermark  = "watermark"
	opaquePageNote   = "page_note"
	opaqueCursor     = "cursor"
)

// opaquePlace is whose the bytes are: another plugin, connection or field can't open
// them.
func opaquePlace(plugin, connection, field string) string {
	return strings.Join([]string{plugin, connection, field}, "\x00")
}

func (h *Host) sealBytes(plugin, connection, field string, clear []byte) ([]byte, *runs.Error) {
	if h.options.Opaque == nil || len(clear) == 0 {
		return clear, nil
	}
	sealed, err := h.options.Opaque.Seal(opaquePlace(plugin, connection, field), clear)
	if err != nil {
		return nil, runs.Failure(plan.KindInternal, runs.AppliedUnknown, "seal the %s of plugin %s: %v", field, plugin, err)
	}
	return sealed, nil
}

func (h *Host) openBytes(plugin, connection, field string, stored []byte) ([]byte, *runs.Error) {
	if h.options.Opaque == nil || len(stored) == 0 {
		return stored, nil
	}
	clear, err := h.options.Opaque.Open(opaquePlace(plugin, connection, field), stored)
	if err != nil {
		return nil, &runs.Error{
			Kind: plan.KindInvalid, Applied: runs.NotApplied, Message: fmt.Sprintf("the stored %s of plugin %s can't be read: %v", field, plugin, err),
			Hint: diag.Sayf("put the key file back that belongs to this store; a reading begins anew after %s", diag.Command{"state", "reset"}),
		}
	}
	return clear, nil
}

// sealCursor seals a cursor that holds a known secret, such as a link with a key in
// its query: masked, it would lead nowhere.
func (h *Host) sealCursor(plugin, connection, cursor string) (string, *runs.Error) {
	if h.options.Opaque == nil || !h.gate.Holds(cursor) && !strings.HasPrefix(cursor, runs.OpaquePrefix) {
		return cursor, nil
	}
	sealed, failure := h.sealBytes(plugin, connection, opaqueCursor, []byte(cursor))
	if failure != nil {
		return "", failure
	}
	return runs.OpaquePrefix + base64.RawURLEncoding.EncodeToString(sealed), nil
}

func (h *Host) openCursor(plugin, connection, cursor string) (string, *runs.Error) {
	encoded, sealed := strings.CutPrefix(cursor, runs.OpaquePrefix)
	if h.options.Opaque == nil || !sealed {
		return cursor, nil
	}
	stored, err := base64.RawURLEncoding.DecodeString(encoded)
	if err != nil {
		return "", invalid("", "the cursor is no whole one: %v", err)
	}
	clear, failure := h.openBytes(plugin, connection, opaqueCursor, stored)
	return string(clear), failure
}

// sealCompleted seals what an answer leaves for later calls.
func (h *Host) sealCompleted(plugin, connection string, answer *runs.Completed) (failure *runs.Error) {
	if answer.Watermark, failure = h.sealBytes(plugin, connection, opaqueWatermark, answer.Watermark); failure != nil {
		return failure
	}
	if answer.PageNote, failure = h.sealBytes(plugin, connection, opaquePageNote, answer.PageNote); failure != nil {
		return failure
	}
	answer.NextCursor, failure = h.sealCursor(plugin, connection, answer.NextCursor)
	return failure
}

// openRequest is a request with what the plugin left for itself in clear.
func (h *Host) openRequest(plugin, connection string, req runs.Request) (opened runs.Request, failure *runs.Error) {
	for _, part := range []struct {
		field string
		value *[]byte
	}{{opaqueCheckpoint, &req.Checkpoint}, {opaqueWatermark, &req.Watermark}, {opaquePageNote, &req.PageNote}} {
		if *part.value, failure = h.openBytes(plugin, connection, part.field, *part.value); failure != nil {
			return req, failure
		}
	}
	req.PageCursor, failure = h.openCursor(plugin, connection, req.PageCursor)
	return req, failure
}

// openInput puts the clear cursor into an input that names its first page by one that
// a reading before has given.
func (h *Host) openInput(a *actionContract, connection string, input clearDocument) (clearDocument, *runs.Error) {
	if a.Paging == nil || a.Paging.CursorField == "" || !bytes.Contains(input.json, []byte(`"`+runs.OpaquePrefix)) {
		return input, nil
	}
	return changeField(input, a.Paging.CursorField, func(cursor string) (string, *runs.Error) {
		return h.openCursor(a.Plugin, connection, cursor)
	})
}

// sealNext seals the cursor of the next page where an output shows it, as the cursor
// itself is.
func (h *Host) sealNext(a *actionContract, connection string, output json.RawMessage) (json.RawMessage, *runs.Error) {
	if a.Paging == nil || a.Paging.NextField == "" || h.options.Opaque == nil || bytes.Equal(h.gate.Mask(output), output) {
		return output, nil
	}
	sealed, failure := changeField(clearDocument{json: output}, a.Paging.NextField, func(cursor string) (string, *runs.Error) {
		return h.sealCursor(a.Plugin, connection, cursor)
	})
	return sealed.json, failure
}

// changeField changes a text at the top of a document.
func changeField(doc clearDocument, field string, change func(string) (string, *runs.Error)) (clearDocument, *runs.Error) {
	tree, err := gate.Tree(doc.json)
	if err != nil {
		return doc, nil //nolint:nilerr // who reads the document says what is wrong with it
	}
	fields, _ := tree.(map[string]any)
	text, is := fields[field].(string)
	if !is {
		return doc, nil
	}
	changed, failure := change(text)
	if failure != nil || changed == text {
		return doc, failure
	}
	fields[field] = changed
	if doc.json, err = schema.Encode(fields); err != nil {
		return doc, asFailure(err)
	}
	return doc, nil
}

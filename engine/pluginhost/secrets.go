package pluginhost

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/pluginhost/gate"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/schema"
)

// sealedPrefix tells a reference to a sealed output from a secret's name.
const sealedPrefix = "sealed:"

// clearDocument is a document with the secrets in clear, on its way to a plugin.
type clearDocument struct {
	json      json.RawMessage
	sensitive []string // JSON Pointers of the secrets
}

// reveal puts the clear values in place of secret references. They may stand
// only in fields that the schema marks writeOnly: else data that looks like a
// reference could fetch a secret. Every clear value is told to the redactor.
// A document without secrets is passed on byte for byte.
// from gives the secrets; nil = the host's own source.
func (h *Host) reveal(ctx context.Context, doc json.RawMessage, t *schema.Type, from SecretSource) (clearDocument, *runs.Error) {
	if from == nil {
		from = h.options.Secrets
	}
	if len(doc) == 0 {
		doc = json.RawMessage("{}")
	}
	if !bytes.Contains(doc, []byte("$secret")) && !t.HasSecret() {
		return clearDocument{json: doc}, nil
	}
	tree, err := gate.Tree(doc)
	if err != nil {
		return clearDocument{}, invalid("", "the input is not JSON: %v", err)
	}
	clear := clearDocument{}
	tree, err = visit(tree, t, "", func(v any, t *schema.Type, pointer string) (any, bool, error) {
		secret := t != nil && t.Secret
		name, isReference := schema.SecretName(v)
		switch {
		case isReference && !secret:
			return nil, true, invalid(pointer, "a secret can't stand at %s", place(pointer))
		case isReference:
			value, err := h.revealOne(ctx, from, name, pointer)
			if err != nil {
				return nil, true, err
			}
			v = value
		case !secret || v == nil:
			return v, false, nil
		default:
			inside, err := h.revealInside(ctx, from, v, pointer)
			if err != nil {
				return nil, true, err
			}
			v = inside
		}
		clear.sensitive = append(clear.sensitive, pointer)
		h.learn(v)
		return v, true, nil
	})
	if err != nil {
		return clearDocument{}, asFailure(err)
	}
	if len(clear.sensitive) == 0 {
		return clearDocument{json: doc}, nil
	}
	if clear.json, err = schema.Encode(tree); err != nil {
		return clearDocument{}, invalid("", "the input can't be written: %v", err)
	}
	return clear, nil
}

// revealInside reveals the references inside a value that is secret as a whole,
// wherever they stand.
func (h *Host) revealInside(ctx context.Context, from SecretSource, v any, pointer string) (any, error) {
	return visit(v, nil, pointer, func(v any, _ *schema.Type, pointer string) (any, bool, error) {
		name, isReference := schema.SecretName(v)
		if !isReference {
			return v, false, nil
		}
		value, err := h.revealOne(ctx, from, name, pointer)
		return value, true, err
	})
}

func (h *Host) revealOne(ctx context.Context, from SecretSource, name, pointer string) (any, error) {
	if ref, sealed := strings.CutPrefix(name, sealedPrefix); sealed {
		if h.options.Vault == nil {
			return nil, invalid(pointer, "the secret output at %s is not kept any more", place(pointer))
		}
		value, err := h.options.Vault.Open(ctx, ref)
		if err != nil {
			return nil, invalid(pointer, "open the secret output at %s: %v", place(pointer), err)
		}
		return gate.Tree(value)
	}
	if from == nil {
		return nil, invalid(pointer, "secret %s: there is no store of secrets", name)
	}
	value, err := from.Reveal(ctx, name)
	if err != nil {
		return nil, invalid(pointer, "secret %s at %s: %v", name, place(pointer), err)
	}
	return value, nil
}

// learn tells the redactor every text inside a secret value.
func (h *Host) learn(v any) {
	if h.options.Redactor == nil {
		return
	}
	_, _ = visit(v, nil, "", func(v any, _ *schema.Type, _ string) (any, bool, error) {
		switch text := v.(type) {
		case string:
			h.options.Redactor.Add(text)
		case json.Number:
			h.options.Redactor.Add(text.String())
		}
		return v, false, nil
	})
}

// sealOutput replaces the secret values of an output, by schema or by pointer,
// with references, and masks secrets that stand anywhere else in it.
func (h *Host) sealOutput(ctx context.Context, req runs.Request, doc json.RawMessage, t *schema.Type, sensitive []string) (json.RawMessage, *runs.Error) {
	if len(sensitive) == 0 && !t.HasSecret() {
		return h.gate.Mask(doc), nil
	}
	tree, err := gate.Tree(doc)
	if err != nil {
		return nil, &runs.Error{Kind: plan.KindUnexpectedResponse, Message: err.Error()}
	}
	ok := false
	tree, err = visit(tree, t, "", func(v any, t *schema.Type, pointer string) (any, bool, error) {
		if v == nil || !(t != nil && t.Secret) && !slices.Contains(sensitive, pointer) {
			return v, false, nil
		}
		ok = true
		ref, err := h.sealOne(ctx, req, pointer, v)
		return schema.SecretRef(sealedPrefix + ref), true, err
	})
	if err != nil {
		return nil, asFailure(err)
	}
	if !ok {
		return h.gate.Mask(doc), nil // as the plugin wrote it
	}
	sealed, err := schema.Encode(tree)
	if err != nil {
		return nil, &runs.Error{Kind: plan.KindUnexpectedResponse, Message: err.Error()}
	}
	return h.gate.Mask(sealed), nil
}

func (h *Host) sealOne(ctx context.Context, req runs.Request, pointer string, v any) (string, error) {
	if h.options.Vault == nil {
		return "", &runs.Error{Kind: plan.KindInternal, Message: "the secret output at " + place(pointer) + " can't be kept: there is no vault"}
	}
	value, err := schema.Encode(v)
	if err != nil {
		return "", fmt.Errorf("encode secret output: %w", err)
	}
	h.learn(v)
	ref, err := h.options.Vault.Seal(ctx, SealRequest{RunID: req.RunID, Operation: req.Operation, Pointer: pointer, Value: value})
	if err != nil {
		return "", fmt.Errorf("keep secret output at %s: %w", place(pointer), err)
	}
	return ref, nil
}

// invalid is the failure of an input that was not sent.
func invalid(pointer, format string, args ...any) *runs.Error {
	return &runs.Error{Kind: plan.KindInvalid, Message: fmt.Sprintf(format, args...), Pointer: pointer, Applied: runs.NotApplied}
}

// asFailure is err as a failure of the host's own when it is no other.
func asFailure(err error) *runs.Error {
	if failure, ok := err.(*runs.Error); ok { //nolint:errorlint // never wrapped here
		return failure
	}
	return &runs.Error{Kind: plan.KindInternal, Message: err.Error()}
}

// place names a pointer for people.
func place(pointer string) string { return cmp.Or(pointer, "the top") }

package schema_test

import (
	"bytes"
	"testing"

	"github.com/flowrun/flowrun/engine/schema"
)

// TestIssue15_2_AnExpectedSchemaSaysSo: x-flowrun-expected is read and written again, of the
// whole alone it is meant; it changes no value that fits.
func TestIssue15_2_AnExpectedSchemaSaysSo(t *testing.T) {
	const fields = `"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]`
	expected, promised := schema.MustFromJSON(`{`+fields+`,"x-flowrun-expected":true}`), schema.MustFromJSON(`{`+fields+`,"x-flowrun-expected":false}`)
	if !expected.Expected || promised.Expected || schema.MustFromJSON(`{`+fields+`}`).Expected {
		t.Errorf("expected %v, promised %v", expected.Expected, promised.Expected)
	}
	if again := schema.MustFromJSON(string(expected.JSONSchema())); !again.Expected {
		t.Errorf("it is lost: %s", expected.JSONSchema())
	}
	if bytes.Contains(promised.JSONSchema(), []byte("expected")) {
		t.Errorf("a promise says it too: %s", promised.JSONSchema())
	}
	for value, fits := range map[string]bool{`{"n":1}`: true, `{"n":"x"}`: false, `{}`: false} {
		for _, s := range []*schema.Type{expected, promised} {
			if _, err := s.Decode([]byte(value)); (err == nil) != fits {
				t.Errorf("%s: %v", value, err)
			}
		}
	}
	if _, err := schema.FromJSON([]byte(`{"x-flowrun-expected":"yes"}`)); err == nil {
		t.Error("a text is taken for it")
	}
}

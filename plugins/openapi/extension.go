package openapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/flowrun/flowrun/plugins/internal/naming"
	"github.com/flowrun/flowrun/plugins/internal/recipe"
	"github.com/flowrun/flowrun/sdk"
)

// readExtension reads what the words x-flowrun-NAME of an operation say.
func readExtension(text sdk.Value) (Extension, error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	var e Extension
	if err := decoder.Decode(&e); err != nil {
		return Extension{}, fmt.Errorf("%s", strings.TrimPrefix(err.Error(), "json: "))
	}
	for word, said := range map[string]struct {
		value string
		known []string
	}{
		"effect": {e.Effect, []string{effectRead, effectIdempotent, effectKeyed, effectOnce}},
		"name":   {naming.Action(e.Name), []string{e.Name}},
	} {
		if said.value != "" && !slices.Contains(said.known, said.value) {
			return Extension{}, fmt.Errorf("%s %q is not known", word, sdk.Shown(said.value, 40))
		}
	}
	for _, rule := range e.Faults {
		if rule.Status == 0 && rule.Code == "" {
			return Extension{}, fmt.Errorf("a fault has neither a status nor a code")
		}
	}
	for _, rule := range e.Refuse {
		if err := recipe.Refusal(rule).Check(); err != nil {
			return Extension{}, fmt.Errorf("refuse: %w", err)
		}
	}
	if e.Paging != nil && !slices.Contains([]string{"link", "cursor", "number", "offset", "none"}, e.Paging.Next) {
		return Extension{}, fmt.Errorf("paging has no `next` of link, cursor, number, offset or none")
	}
	return e, nil
}

package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"

	"github.com/flowrun/flowrun/sdk/sdktest"
)

// told is what a project tells the plugin.
func told(t *testing.T, only ...string) sdktest.Told {
	t.Helper()
	document, err := os.ReadFile("crm.json")
	if err != nil {
		t.Fatal(err)
	}
	return sdktest.Told{Name: "crm", Settings: map[string]any{"document": "crm.json", "only": only}, Files: map[string]string{"/document": string(document)}}
}

func TestAnEndpointIsAnAction(t *testing.T) {
	t.Parallel()
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"name": "%s", "open_orders": 2}`, r.URL.String())
	}))
	defer service.Close()
	crm := sdktest.OpenTold(t, plugin(), told(t), map[string]any{"base_url": service.URL})
	result := crm.Call("customer", map[string]any{"id": "a/b"})
	if result.Err != nil {
		t.Fatal(result.Err)
	}
	sdktest.Equal(t, result.Output, map[string]any{"name": "/customers/a%2Fb?detail=short", "open_orders": 2})
	if problems := crm.Validate("customer", map[string]any{"di": "c1"}); len(problems) != 2 {
		t.Errorf("a misspelt input: %v", problems)
	}
}

func TestWhatIsNotThereIsShownAtItsPlace(t *testing.T) {
	t.Parallel()
	described := sdktest.Tell(t, plugin(), told(t, "health", "orders")).Describe()
	if len(described.Problems) != 1 || described.Problems[0].Pointer != "/only/1" || len(described.Actions) != 0 {
		t.Errorf("problems %+v, actions %v", described.Problems, described.Actions)
	}
	if described := sdktest.Tell(t, plugin(), told(t, "health")).Describe(); len(described.Actions) != 1 || described.Name != "crm" {
		t.Errorf("%+v", described)
	}
}

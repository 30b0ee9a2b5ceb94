package plugins_test

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flowrun/flowrun/plugins/openapi"
)

// What a plugin of one service carries is what its description says: UPDATE=1 writes it.
func TestDescriptionsOfServicesAreRead(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"netinfo", "dictionary"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(name + "/" + name + ".yaml")
			if err != nil {
				t.Fatal(err)
			}
			read, err := openapi.Read(openapi.Settings{Document: name + ".yaml"}, openapi.Files{Document: text})
			if err != nil {
				t.Fatal(err)
			}
			compiled, err := read.Compile()
			if err != nil {
				t.Fatal(err)
			}
			want := compiled.Encode()
			place := name + "/" + name + ".json"
			if os.Getenv("UPDATE") != "" {
				if err := os.WriteFile(place, want, 0o644); err != nil { //nolint:gosec // a file of the source
					t.Fatal(err)
				}
				return
			}
			got, err := os.ReadFile(place)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), string(got)); diff != "" {
				t.Errorf("%s is another (-want +got), write it with UPDATE=1:\n%s", place, diff)
			}
		})
	}
}

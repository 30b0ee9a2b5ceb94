package secret_test

import (
	"strings"
	"testing"

	"github.com/flowrun/flowrun/engine/secret"
)

func TestMaskJSONKeepsTheFormAndMasksTexts(t *testing.T) {
	redactor := secret.NewRedactor()
	redactor.Add(canary)
	redactor.Add("12345678901234567890")
	tests := map[string]string{
		`{"a":[1,2.50,true,null,"x<y&z"],"b":{}}`:  `{"a":[1,2.50,true,null,"x<y&z"],"b":{}}`,
		`{"` + canary + `":"is ` + canary + `!"}`:  `{"[redacted]":"is [redacted]!"}`,
		`[12345678901234567890, 9007199254740993]`: `["[redacted]",9007199254740993]`,
		`"` + canary + `"`:                         `"[redacted]"`,
		` [ ] `:                                    `[]`,
		`"line\nbreak \u003c ` + canary + `"`:      `"line\nbreak < [redacted]"`,
	}
	for value, want := range tests {
		got, err := secret.MaskJSON(redactor, []byte(value))
		if err != nil || string(got) != want {
			t.Errorf("%s becomes %s (%v), want %s", value, got, err, want)
		}
	}
	for _, broken := range []string{``, `{`, `[1,`, `{"a"}`, `x`} {
		if got, err := secret.MaskJSON(redactor, []byte(broken)); err == nil {
			t.Errorf("%q becomes %s", broken, got)
		}
	}
}

func TestARedactorIsTaughtWhatIsSealed(t *testing.T) {
	kv := sealed(t, storedRows(t))
	if err := secret.NewStored(kv).Set("A", "canary-stored"); err != nil {
		t.Fatal(err)
	}
	vault := secret.NewVault(kv)
	for run, value := range map[string]string{"run1": `{"pin":"canary-nested","n":123456789}`, "run2": `"canary-other"`} {
		if _, err := vault.Put(run, value); err != nil {
			t.Fatal(err)
		}
	}
	redactor := secret.NewRedactor()
	if err := secret.Teach(redactor, kv, []string{"run1"}); err != nil {
		t.Fatal(err)
	}
	got := redactor.Redact("canary-stored canary-nested 123456789 canary-other")
	if strings.Count(got, secret.Redacted) != 3 || !strings.HasSuffix(got, "canary-other") {
		t.Errorf("masked: %s", got)
	}
}

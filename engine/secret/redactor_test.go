package secret_test

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/flowrun/flowrun/engine/secret"
)

// awkward has what every encoding changes.
const awkward = "p/s+w=\"<é&> %\\\tö?"

func TestEveryFormIsMasked(t *testing.T) { // docs/reliability.md, "Secrets"
	r := secret.NewRedactor()
	pem := "-----BEGIN KEY-----\nMIIEvgIBADANBg\r\nkqhkiG9w0BAQEF\n-----END KEY-----\n"
	for _, value := range []string{awkward, pem, canary} {
		r.Add(value)
	}
	quote := func(s string) string { data, _ := json.Marshal(s); return string(data[1 : len(data)-1]) }
	cases := map[string]string{"a line": "kqhkiG9w0BAQEF"}
	for name, value := range map[string]string{"awkward": awkward, "canary": canary, "pem": pem} {
		cases[name+" raw"] = value
		cases[name+" query"] = url.QueryEscape(value)
		cases[name+" path"] = url.PathEscape(value)
		cases[name+" hex"] = hex.EncodeToString([]byte(value))
		cases[name+" HEX"] = strings.ToUpper(hex.EncodeToString([]byte(value)))
		cases[name+" json"] = quote(value)
		cases[name+" json in ASCII"] = strings.NewReplacer("é", `\u00e9`, "ö", `\u00f6`).Replace(quote(value))
		cases[name+" %q-like slash"] = strings.ReplaceAll(quote(value), "/", `\/`)
	}
	for name, form := range cases {
		text := "before " + form + " after"
		got := r.Redact(text)
		if !strings.Contains(got, secret.Redacted) || leaks(got, canary) || strings.Contains(got, strings.TrimSpace(form)) {
			t.Errorf("%s: %q -> %q", name, text, got)
		}
	}
}

func TestBase64AtEveryAlignmentIsMasked(t *testing.T) {
	for _, value := range []string{canary, awkward, "abcdef", "abcdefg", "abcdefgh"} {
		r := secret.NewRedactor()
		r.Add(value)
		for before := range 7 {
			for after := range 4 {
				clear := strings.Repeat("~", before) + value + strings.Repeat("~", after)
				for _, encoding := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding, base64.RawStdEncoding, base64.RawURLEncoding} {
					text := encoding.EncodeToString([]byte(clear))
					got := r.Redact(text)
					if !strings.Contains(got, secret.Redacted) || len(got) > len(secret.Redacted)+(before+after)*4/3+8 {
						t.Errorf("%q at %d+%d: %q -> %q", value, before, after, text, got)
					}
				}
			}
		}
	}
}

func TestShortAndHarmlessTextsStay(t *testing.T) {
	r := secret.NewRedactor()
	for _, value := range []string{"", "a", "12345", "\n\n\n\n\n\n"} {
		r.Add(value)
	}
	for _, text := range []string{"", "a 12345 b", "\n\n\n\n\n\n\n"} {
		if got := r.Redact(text); got != text && text != "\n\n\n\n\n\n\n" {
			t.Errorf("%q -> %q", text, got)
		}
	}
	r.Add(canary)
	data := []byte("nothing to hide")
	if got := r.RedactBytes(data); &got[0] != &data[0] {
		t.Error("a harmless text was copied")
	}
	if got := r.RedactBytes([]byte("x" + canary)); string(got) != "x"+secret.Redacted {
		t.Errorf("got %q", got)
	}
}

func TestOverlappingSecretsGiveOneMask(t *testing.T) {
	r := secret.NewRedactor()
	r.Add("abcdefgh")
	r.Add("efghijkl")
	r.Add("cdefgh")
	for text, want := range map[string]string{
		"xabcdefghijkly":     "x[redacted]y",
		"abcdefghabcdefgh":   "[redacted]",
		"abcdefgh abcdefgh":  "[redacted] [redacted]",
		"abcdefabcdefghijkl": "abcdef[redacted]",
		"cdefg":              "cdefg",
	} {
		if got := r.Redact(text); got != want {
			t.Errorf("%q -> %q, want %q", text, got, want)
		}
	}
}

func TestAStreamIsMaskedOverItsBorders(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		alphabet := rapid.StringOfN(rapid.SampledFrom([]rune("ab\n")), 6, 12, -1)
		r := secret.NewRedactor()
		secrets := rapid.SliceOfN(alphabet, 1, 4).Draw(t, "secrets")
		for _, value := range secrets {
			r.Add(value)
		}
		text := rapid.StringOfN(rapid.SampledFrom([]rune("ab\nx")), 0, 120, -1).Draw(t, "text")
		var out bytes.Buffer
		w := r.Writer(&out)
		for rest := text; rest != ""; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "chunk")
			if written, err := fmt.Fprint(w, rest[:n]); err != nil || written != n {
				t.Fatal(written, err)
			}
			rest = rest[n:]
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
		if got, want := out.String(), r.Redact(text); got != want {
			t.Fatalf("in chunks %q, at once %q", got, want)
		}
		for _, value := range secrets {
			if strings.Contains(out.String(), value) && !strings.Contains(secret.Redacted, value) {
				t.Fatalf("%q is in %q", value, out.String())
			}
		}
	})
}

func TestASecretAddedMidStreamIsMasked(t *testing.T) {
	r := secret.NewRedactor()
	r.Add("zzzzzz" + canary) // keeps the beginning back
	var out bytes.Buffer
	w := r.Writer(&out)
	for _, chunk := range []string{"a zzzz", "zz" + canary[:5]} {
		if _, err := w.Write([]byte(chunk)); err != nil {
			t.Fatal(err)
		}
	}
	r.Add(canary)
	if _, err := w.Write([]byte(canary[5:] + " b")); err != nil {
		t.Fatal(err)
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	if got := out.String(); got != "a [redacted] b" {
		t.Errorf("got %q", got)
	}
}

func TestRemoveTakesOneAddBack(t *testing.T) {
	r := secret.NewRedactor()
	r.Add(canary)
	r.Add(canary)
	r.Add(canary + "-longer")
	r.Remove("never added")
	for step, want := range []string{"[redacted]", "[redacted]", canary} {
		if got := r.Redact(canary); got != want {
			t.Errorf("after %d removals: %q", step, got)
		}
		r.Remove(canary)
	}
	if got := r.Redact(canary + "-longer"); got != "[redacted]" {
		t.Errorf("another value lost its mask: %q", got)
	}
}

func TestManyGoroutinesMayRedact(t *testing.T) { // for the race detector
	r := secret.NewRedactor()
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			value := fmt.Sprintf("secret-%d-value", i)
			r.Add(value)
			if got := r.Redact("x " + value); got != "x [redacted]" {
				t.Errorf("got %q", got)
			}
		})
	}
	all.Wait()
}

func leaks(text, value string) bool { return strings.Contains(strings.ToLower(text), value) }

func BenchmarkRedact(b *testing.B) {
	r := secret.NewRedactor()
	for i := range 20 {
		r.Add(fmt.Sprintf("secret-%d-%s", i, strings.Repeat("x", 30)))
	}
	line := strings.Repeat("an ordinary line of a log, with numbers 12345 and more ", 4)
	b.SetBytes(int64(len(line)))
	for b.Loop() {
		r.Redact(line)
	}
}

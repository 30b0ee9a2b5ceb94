package web

import (
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestABodyIsOneValue(t *testing.T) {
	for body, good := range map[string]bool{`{"a":1}`: true, "{\"a\":1}\n ": true, `{"a":1} {"a":2}`: false, `{"a":1}{}`: false, `{"a":1} 1`: false, `{"a":1}]`: false} {
		r := httptest.NewRequest("POST", "/", strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		var into struct{ A int }
		if problem := decodeBody(httptest.NewRecorder(), r, 100, false, &into); (problem == nil) != good {
			t.Errorf("%s: %v", body, problem)
		}
	}
}

func TestAKeyThatOthersMayReadIsRefused(t *testing.T) {
	for _, mode := range []os.FileMode{0o604, 0o644, 0o602, 0o606} {
		key := filepath.Join(t.TempDir(), "key.pem")
		if err := os.WriteFile(key, []byte("key"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(key, mode); err != nil {
			t.Fatal(err)
		}
		if _, err := NewCertificate(key, key); err == nil || !strings.Contains(err.Error(), "may be read by everybody") {
			t.Errorf("mode %04o: %v", mode, err)
		}
	}
}

package saved

import (
	"strings"
	"testing"
)

// TestIssue16_3_NoBrowserRunsWhatAServiceSent: neither by its type nor by its name.
func TestIssue16_3_NoBrowserRunsWhatAServiceSent(t *testing.T) {
	for given, want := range map[string]string{
		"text/csv": "text/csv", "text/plain; charset=utf-8": "text/plain; charset=utf-8", "image/png": "image/png",
		"text/html": "application/octet-stream", "TEXT/HTML; charset=utf-8": "application/octet-stream", "image/svg+xml": "application/octet-stream",
		"application/xhtml+xml": "application/octet-stream", "text/javascript": "application/octet-stream", "application/xml": "application/octet-stream",
		"text/xml": "application/octet-stream", "": "application/octet-stream", "text/csv\r\nX: y": "application/octet-stream", "multipart/x-mixed-replace; boundary=a": "application/octet-stream",
	} {
		if got := inert(given); got != want {
			t.Errorf("%q is sent as %s, want %s", given, got, want)
		}
	}
	for name, want := range map[string]string{
		"report.csv":                    `attachment; filename="report.csv"`,
		"":                              `attachment; filename="download"`,
		"../../etc/passwd":              `attachment; filename="passwd"`,
		`..\..\boot.ini`:                `attachment; filename="boot.ini"`,
		`a"; filename="b.exe`:           `attachment; filename="a__ filename=_b.exe"`,
		"a\r\nSet-Cookie: x=1":          `attachment; filename="a__Set-Cookie_ x=1"`,
		"..":                            `attachment; filename="download"`,
		".htaccess":                     `attachment; filename="htaccess"`,
		"\u202egpj.exe":                 `attachment; filename="_gpj.exe"`,
		"größe 1.csv":                   `attachment; filename="gr__e 1.csv"; filename*=UTF-8''gr%C3%B6%C3%9Fe%201.csv`,
		"a%0d%0ab":                      `attachment; filename="a_0d_0ab"`,
		strings.Repeat("x", 300) + ".c": `attachment; filename="` + strings.Repeat("x", 118) + `.c"`,
	} {
		if got := attachment(name); got != want {
			t.Errorf("%q is saved as %s, want %s", name, got, want)
		}
	}
}

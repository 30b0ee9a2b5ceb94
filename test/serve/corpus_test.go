package serve

import (
	"fmt"
	"math/rand/v2"
	"net/url"
	"strings"
)

// namePieces are what hostile names are made of.
func namePieces() []string {
	return []string{
		"..", ".", "/", `\`, "//", "../", `..\`, "./", "~", "*", "?", "#", ";", ":", "|", "&", "`", "$(id)", "${HOME}", "%2e", "%2f", "%5c", "%00", "%252e%252e%252f",
		"\x00", "\x01", "\x1b[31m", "\x7f", "\r\n", "\n", "\t", " ", "\u0085", "\u2028", "\u202e", "\u200b", "\ufeff", "\ufffd", "\xff", "\xc0\xae", "\xed\xa0\x80",
		"CON", "NUL", "aux.txt", "C:", `\\host\share`, "file://", "etc/passwd", "canary.txt", "flowrun.db", "flowrun.key", "owner.json", "project", "state", "workflows/hello.yaml",
		"hello", "hello/morning", "01k8zq4c0vdx3y6t7k9m2n5p8r", "work", "a", "é", "日本", "<script>", `"><img src=x onerror=alert(1)>`, "'", `"`, "{{.}}", "${{ secrets.X }}", "__proto__", "constructor",
		"admin", "healthz", "login", "static", "null", "undefined", "NaN", "-1", "0", "1e9", "9223372036854775808", "\\u0000", "%", "%%", "%zz", "+", "=", ",", "@", "!", "[]", "(", ")",
	}
}

// hostileNames returns n names: all pieces, pairs and triples of them, long ones,
// and steps out of every folder.
func hostileNames(n int, seed uint64) []string {
	pieces := namePieces()
	names := append([]string{}, pieces...)
	for depth := 1; depth <= 8; depth++ {
		for _, target := range []string{"canary.txt", "project/flowrun.yaml", "state/flowrun.db", "etc/passwd"} {
			names = append(names, strings.Repeat("../", depth)+target, strings.Repeat(`..\`, depth)+target, "a/"+strings.Repeat("../", depth)+target)
		}
	}
	for _, length := range []int{64, 100, 101, 255, 256, 1024, 4096, 20000} {
		names = append(names, strings.Repeat("a", length), strings.Repeat("é", length/2), strings.Repeat("../", length/3))
	}
	random := rand.New(rand.NewPCG(seed, 1))
	for len(names) < n {
		var name strings.Builder
		for range 1 + random.IntN(4) {
			name.WriteString(pieces[random.IntN(len(pieces))])
		}
		names = append(names, name.String())
	}
	if len(names) > n { // a sample, the pieces first
		random.Shuffle(len(names)-len(pieces), func(i, j int) {
			i, j = i+len(pieces), j+len(pieces)
			names[i], names[j] = names[j], names[i]
		})
		names = names[:n]
	}
	return names
}

// spellings are the ways in which a name may stand in a path: encoded as it
// should be, raw, encoded twice, and in capitals or not.
func spellings(name string, which int) string {
	switch which % 4 {
	case 1:
		return rawInPath(name)
	case 2:
		return url.PathEscape(url.PathEscape(name))
	case 3:
		var all strings.Builder
		for _, b := range []byte(name) {
			fmt.Fprintf(&all, "%%%02x", b)
		}
		return all.String()
	}
	return url.PathEscape(name)
}

// rawInPath leaves everything as it is but what would end the request line.
func rawInPath(name string) string {
	return strings.NewReplacer(" ", "%20", "\r", "%0d", "\n", "%0a").Replace(name)
}

// pathMutations are other spellings of a path that some server takes for it, or
// for a path that is open.
func pathMutations(path string) []string {
	var mutations []string
	add := func(text string) {
		if text != path {
			mutations = append(mutations, text)
		}
	}
	for _, suffix := range []string{"/", "//", "/.", "/..", "/../", "/healthz", "/../healthz", "/configs", ";", ";/healthz", ";x=y", "%00", "%00/healthz", ".", "..", "%2e", "%2f", "%2f..%2fhealthz", "%20", "%09", "%0a", "#", "%23", "%3f", ".json", ".css", "~", "\\", "%5c", "*", "/static/app.css", "/..;/healthz"} {
		add(path + suffix)
	}
	for _, prefix := range []string{"/", "//", "/.", "/./", "/..", "/healthz/..", "/healthz/../", "/healthz/%2e%2e", "/healthz;", "/healthz%2f..", "/static/..", "/static/%2e%2e", "/login/..", "/;", "/%2f", "/%5c", "/x/..", "//evil.example", "/http://127.0.0.1", "*"} {
		add(prefix + path)
	}
	add(strings.ToUpper(path))
	add(strings.Title(path)) //nolint:staticcheck // a word's first letter is what is wanted
	add(strings.ReplaceAll(path, "/", "//"))
	add(strings.ReplaceAll(path, "/", "/./"))
	add(strings.ReplaceAll(path, "/", `\`))
	add(strings.ReplaceAll(path, "/", "%2f"))
	add(strings.ReplaceAll(path, "/", "%2F"))
	add("/" + strings.ReplaceAll(strings.TrimPrefix(path, "/"), "/", "%2f"))
	add(strings.ReplaceAll(path, "/", "/%2e/"))
	add(strings.ReplaceAll(path, "i", "%69"))
	add(strings.ReplaceAll(path, "a", "%61"))
	add(strings.ReplaceAll(path, "a", "%2561"))
	add(strings.ReplaceAll(path, "s", "ſ"))
	add(strings.ReplaceAll(path, "i", "ı"))
	add(strings.TrimPrefix(path, "/"))
	return mutations
}

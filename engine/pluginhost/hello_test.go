package pluginhost

import (
	"bufio"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
)

func TestReadHello(t *testing.T) {
	const line = "1|1|unix|/tmp/s/plugin123|grpc|"
	for name, c := range map[string]struct {
		output string
		want   string // "" = none
		noise  int
	}{
		"alone":                  {line + "\n", line, 0},
		"without a line end":     {line, line, 0},
		"with a carriage return": {line + "\r\n", line, 0},
		"after other lines":      {"hello\n\n7|8\n" + line + "\nmore\n", line, 3},
		"behind other text":      {"loading 100%... " + line + "\n", line, 0},
		"after a digit":          {"took 3" + line + "\n", line, 0},
		"with more fields":       {"1|1|unix|/s|grpc||true\n", "1|1|unix|/s|grpc||true", 0},
		"after a very long line": {strings.Repeat("x", 200_000) + "\n" + line, line, 4},
		"never":                  {"hello\n", "", 1},
		"of another kind":        {"1|1|http|/s|grpc|\n", "", 1},
		"after too much noise":   {strings.Repeat("noise\n", 200_000) + line, "", 174_763},
	} {
		t.Run(name, func(t *testing.T) {
			noise := 0
			h, err := readHello(bufio.NewReaderSize(strings.NewReader(c.output), 64<<10), func([]byte) { noise++ })
			if (err != nil) != (c.want == "") || strings.TrimSpace(h.line) != c.want || noise != c.noise {
				t.Errorf("hello = %+v, %v after %d lines of noise", h, err, noise)
			}
		})
	}
}

// TestAWholeHelloIsWhatTheExpressionFinds compares lines made of a handshake's pieces.
func TestAWholeHelloIsWhatTheExpressionFinds(t *testing.T) {
	random, whole := rand.New(rand.NewPCG(1, 2)), 0
	fields := [][]string{
		{"1", "1", "12", "", "x1"}, {"1", "123456", "1234567", "", "a"}, {"unix", "tcp", "http"}, {"/s", "", "a b", "127.0.0.1:1"}, {"grpc", "netrpc", "grpc ", "rpc"}, {"", "", "true", "a b", " "}, {"", "x"},
	}
	ends := []string{"", "\n", "\r\n", " \n", "|", "x\n", "\v\n", "\u00a0"}
	for range 50_000 {
		var parts []string
		for _, choice := range fields[:4+random.IntN(4)] {
			parts = append(parts, choice[random.IntN(len(choice))])
		}
		line := []byte(strings.Join(parts, "|") + ends[random.IntN(len(ends))])
		want, version := "", 0
		if match := helloPattern().FindSubmatch(line); match != nil {
			want = string(match[0])
			version, _ = strconv.Atoi(string(match[2])) // of at most six digits
		}
		if h, ok := parseHello(line); ok != (want != "") || h.line != want || h.version != version {
			t.Fatalf("%q gives %+v, the expression %q", line, h, want)
		}
		if _, ok := wholeHello(line); ok {
			whole++
		}
	}
	if whole < 1000 {
		t.Errorf("%d lines are whole handshakes", whole)
	}
}

// FuzzParseHello: it never panics, and what it finds is a suffix of the line
// that it finds again.
func FuzzParseHello(f *testing.F) {
	for _, line := range []string{"1|1|unix|/tmp/s|grpc|", "x 1|2|tcp|127.0.0.1:1|netrpc", "||||", "1|999999999999|unix|/s|grpc"} {
		f.Add([]byte(line))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		h, ok := parseHello(line)
		if !ok {
			return
		}
		again, ok := parseHello([]byte(h.line))
		if !ok || again != h || !strings.HasSuffix(string(line), h.line) {
			t.Errorf("%q gave %+v, then %+v", line, h, again)
		}
	})
}

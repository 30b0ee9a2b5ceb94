package main_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	neturl "net/url"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

const apiPage = "../../docs/api.md"

// answer is what a page says before the answer of a command: its status.
var answer = regexp.MustCompile(`^It answers (\d{3})[:.]$`)

// TestTheExamplesOfTheAPIPageWork sends every curl command of docs/api.md, in their
// order, to a server of the page's own project. The JSON below a command must be a
// part of the answer, where "…" stands for anything; lines of text must be lines of
// it. $RUN is the run of the last answer that has one.
func TestTheExamplesOfTheAPIPageWork(t *testing.T) {
	t.Parallel()
	r := newPageReader(t, apiPage)
	examples := 0
	var variables map[string]string
	for i, b := range r.blocks {
		if b.File != "" && !b.Linked {
			r.file(b)
		}
		commands := b.Session()
		if len(commands) != 1 || !strings.HasPrefix(commands[0].Typed, "curl ") || i+2 >= len(r.blocks) {
			continue
		}
		if variables == nil {
			variables = served(t, r)
		}
		says := answer.FindStringSubmatch(r.blocks[i+1].Text)
		if says == nil {
			t.Errorf("line %d: the page does not say what %s answers", b.Line, commands[0].Typed)
			continue
		}
		examples++
		want := ""
		if strings.HasSuffix(says[0], ":") {
			want = r.blocks[i+2].Text
		}
		checkCurl(t, variables, says[1], commands[0].Typed+"\n", want)
	}
	if examples < 20 {
		t.Errorf("%d curl commands say what they answer", examples)
	}
}

// served serves the project of a page, with a token.
func served(t *testing.T, r *pageReader) map[string]string {
	t.Helper()
	variables := map[string]string{"FLOWRUN": serveExamples(t, r.binary, r.typist.Dir)}
	created := exec.Command(r.binary, "tokens", "create", "ci", "--scope", "operator")
	created.Dir = r.typist.Dir
	token, err := created.Output()
	if err != nil {
		t.Fatal(err)
	}
	variables["TOKEN"] = strings.TrimSpace(string(token))
	return variables
}

// serveExamples runs `flowrun serve` in a folder and returns its address.
func serveExamples(t *testing.T, binary, dir string) string {
	t.Helper()
	serve := exec.Command(binary, "serve", "--listen", "127.0.0.1:0")
	serve.Dir = dir
	said, err := serve.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := serve.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = serve.Process.Signal(os.Interrupt)
		_ = serve.Wait() // ended by the signal
	})
	for lines := bufio.NewScanner(said); lines.Scan(); {
		if _, after, found := strings.Cut(lines.Text(), "flowrun serves "); found {
			go func() { _, _ = io.Copy(io.Discard, said) }()
			url, _, _ := strings.Cut(after, " ")
			return url
		}
	}
	t.Fatal("the server ended before it said where it is")
	return ""
}

func checkCurl(t *testing.T, variables map[string]string, status, command, want string) {
	t.Helper()
	request, err := curlRequest(command, variables)
	if err != nil {
		t.Errorf("%v: %s", err, command)
		return
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Error(err)
		return
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil || strconv.Itoa(response.StatusCode) != status {
		t.Errorf("%s\nstatus %d, want %s, %v: %s", command, response.StatusCode, status, err, body)
		return
	}
	switch {
	case want == "":
	case !strings.HasPrefix(want, "{"):
		for line := range strings.Lines(want) {
			if !bytes.Contains(body, []byte("\n"+line)) {
				t.Errorf("%s\nno line %q in %s", command, line, body)
			}
		}
	default:
		var expected, got any
		if err := json.Unmarshal([]byte(want), &expected); err != nil {
			t.Errorf("the answer of %s is no JSON: %v", command, err)
		}
		if err := json.Unmarshal(body, &got); err != nil {
			t.Errorf("%s\nanswers no JSON: %v: %s", command, err, body)
		}
		if lacks := missing("", expected, got, variables); lacks != "" {
			t.Errorf("%s\n%s in %s", command, lacks, body)
		}
		if answer, ok := got.(map[string]any); ok {
			if run, ok := answer["run"].(map[string]any); ok {
				variables["RUN"], _ = run["id"].(string)
			}
		}
	}
}

// missing says what of want is not in got, "" = it is there.
func missing(at string, want, got any, variables map[string]string) string {
	switch want := want.(type) {
	case map[string]any:
		object, _ := got.(map[string]any)
		for name, value := range want {
			below, found := object[name]
			if !found {
				return at + "." + name + " is not there"
			}
			if lacks := missing(at+"."+name, value, below, variables); lacks != "" {
				return lacks
			}
		}
		return ""
	case []any:
		list, _ := got.([]any)
		if len(list) < len(want) {
			return fmt.Sprintf("%s has %d elements", at, len(list))
		}
		for i, value := range want {
			if lacks := missing(fmt.Sprintf("%s[%d]", at, i), value, list[i], variables); lacks != "" {
				return lacks
			}
		}
		return ""
	case string:
		if want == "…" && got != nil {
			return ""
		}
		if expanded := os.Expand(want, func(name string) string { return variables[name] }); expanded != got {
			return fmt.Sprintf("%s is %v, not %s,", at, got, expanded)
		}
		return ""
	}
	if want != got {
		return fmt.Sprintf("%s is %v, not %v,", at, got, want)
	}
	return ""
}

// curlRequest is the request that a curl command sends. It knows the flags that the
// page needs.
func curlRequest(command string, variables map[string]string) (*http.Request, error) {
	words, err := shellWords(command, variables)
	if err != nil || len(words) == 0 || words[0] != "curl" {
		return nil, fmt.Errorf("this is no curl command: %w", err)
	}
	method, url, body, header, asked := "", "", "", http.Header{}, neturl.Values{}
	for i := 1; i < len(words); i++ {
		switch word := words[i]; {
		case word == "-N", word == "-G":
		case !strings.HasPrefix(word, "-"):
			url = word
		case i+1 == len(words):
			return nil, fmt.Errorf("%s stands alone", word)
		case word == "-X":
			i++
			method = words[i]
		case word == "-H":
			i++
			name, value, _ := strings.Cut(words[i], ": ")
			header.Add(name, value)
		case word == "--data-urlencode": // with -G
			i++
			name, value, _ := strings.Cut(words[i], "=")
			asked.Add(name, value)
		case word == "-d":
			i++
			body = words[i]
			if method == "" {
				method = http.MethodPost
			}
		default:
			return nil, fmt.Errorf("the test does not know %s", word)
		}
	}
	if len(asked) > 0 {
		url += "?" + asked.Encode()
	}
	request, err := http.NewRequest(method, url, strings.NewReader(body))
	if err == nil {
		request.Header = header
	}
	return request, err
}

// shellWords splits a command as a shell does: quotes, continued lines, and
// variables but in single quotes.
func shellWords(command string, variables map[string]string) ([]string, error) {
	var words []string
	var word strings.Builder
	begun, quote := false, rune(0)
	expand := func(text string) string { return os.Expand(text, func(name string) string { return variables[name] }) }
	var part strings.Builder // of word, in the quotes at hand
	flush := func() {
		if quote == '\'' {
			word.WriteString(part.String())
		} else {
			word.WriteString(expand(part.String()))
		}
		part.Reset()
	}
	for _, r := range strings.ReplaceAll(command, "\\\n", " ") {
		switch {
		case quote != 0 && r == quote:
			flush()
			quote = 0
		case quote == 0 && (r == '"' || r == '\''):
			flush()
			quote, begun = r, true
		case quote == 0 && (r == ' ' || r == '\n'):
			flush()
			if begun {
				words = append(words, word.String())
			}
			word.Reset()
			begun = false
		default:
			part.WriteRune(r)
			begun = true
		}
	}
	if quote != 0 {
		return nil, fmt.Errorf("a quote is open")
	}
	return words, nil
}

func TestTheSplitterOfCurlCommandsIsAShell(t *testing.T) {
	t.Parallel()
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("no sh is installed")
	}
	const command = "curl -X POST \"$FLOWRUN/a b\" \\\n  -H 'A: $B' -d '{\"a\": \"b c\"}' \"x\"'y'z\n"
	got, err := shellWords(command, map[string]string{"FLOWRUN": "http://x"})
	if err != nil {
		t.Fatal(err)
	}
	script := "curl() { for word; do printf '%s\\n' \"$word\"; done; }\n" + command
	shell := exec.Command(sh, "-c", script)
	shell.Env = append(os.Environ(), "FLOWRUN=http://x")
	out, err := shell.Output()
	if err != nil {
		t.Fatal(err)
	}
	if want := "curl\n" + string(out); strings.Join(got, "\n")+"\n" != want {
		t.Errorf("%q\nwant %q", got, want)
	}
}

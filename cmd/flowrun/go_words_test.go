package main_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// goWords are what Go's packages say of bad input, which people who use flowrun need
// not know.
var goWords = regexp.MustCompile(`json: |cannot unmarshal|strconv\.|invalid character|looking for beginning|unexpected EOF|unexpected end of JSON|dial tcp|` +
	`proxyconnect|x509:|tls: |net/http|\byaml: [a-z]+ line|yaml: line|context deadline|context canceled|rpc error|code = |%!|<nil>|map\[|goroutine|runtime error|` +
	`invalid argument "|missing port in address|\blookup [a-z0-9]|\b(open|stat|read|mkdir) /|parsing time|time: |&\{|\*errors|\[\]uint8`)

// badInputs are mistakes of people, by command: what is asked, and words that the
// answer must hold ("" = any). FILES are those of badFiles.
var badInputs = []struct{ args, says string }{
	{`run w/a.yaml -i n=abc`, "write digits only"},
	{`run w/a.yaml -i n=99999999999999999999`, "does not fit 64 bits"},
	{`run w/a.yaml -i n:={`, "ends too early"},
	{`run w/a.yaml -i n:=1,`, "line 1, column 2: found `,`, expected the end"},
	{`run w/a.yaml -i x:={a:1}`, "line 1, column 2: found `a`, expected a name in double quotes"},
	{`run w/a.yaml -i x:=NaN`, "expected a value"},
	{`run w/a.yaml -i x:={'a':1}`, "found a single quote"},
	{`run w/a.yaml -i x=@half.json`, "line 2, column 10: found `}`, expected `true`"},
	{`run w/a.yaml -i x=@w`, "w can't be read: is a directory"},
	{`run w/a.yaml -i x=@nofile`, "no such file"},
	{`run w/a.yaml -i when=yesterday`, "is not a time"},
	{`run w/a.yaml -i when=2026-13-01T00:00:00Z`, "is not a time"},
	{`run w/a.yaml -i d=1x`, "is not a duration"},
	{`run w/a.yaml --inputs list.json`, "must be a mapping"},
	{`run w/a.yaml --inputs text.json`, "expects an integer"},
	{`run w/a.yaml --inputs open.yaml`, "is not closed"},
	{`run w/a.yaml --inputs empty.yaml`, "empty"},
	{`run w/a.yaml --inputs latin1.json`, "is not UTF-8"},
	{`run w/a.yaml --inputs w`, "is a directory"},
	{`run w/a.yaml --sandbox --mocks half.json`, ""},
	{`run w/a.yaml --sandbox --mocks w`, ""},
	{`run w`, "is a folder"},
	{`run utf16.yaml`, "UTF-16"},
	{`run w/a.yaml --sandbox --approve-after x`, "no length of time"},
	{`plan w/a.yaml -i n=zz`, "write digits only"},
	{`plan w/a.yaml -i n:=`, "it is empty"},
	{`validate open.yaml`, "is not closed"},
	{`validate tab.yaml`, "tab"},
	{`validate alias.yaml`, "anchors and aliases"},
	{`validate tag.yaml`, "tags"},
	{`validate escape.yaml`, "escape"},
	{`validate list.json`, "must be a map"},
	{`validate triggers.yaml`, "is not a minute"},
	{`validate version.yaml`, ""},
	{`validate latin1.json`, "UTF-8"},
	{`fmt open.yaml`, "is not closed"},
	{`graph open.yaml`, "is not closed"},
	{`graph w/a.yaml -f png`, "takes text"},
	{`test open.test.yaml`, "is not closed"},
	{`test wrong.test.yaml`, "FR60"},
	{`call netinfo.whois --with {`, "ends too early"},
	{`call netinfo.whois --with abc`, "line 1, column 1: found `a`, expected a value"},
	{`call netinfo.whois --with {"domain":"a.de",}`, "line 1, column 18: found `}`, expected a name in double quotes"},
	{`call netinfo.whois --with []`, "one JSON array"},
	{`call netinfo.whois --with @half.json`, "line 2, column 10"},
	{`call netinfo.whois --with @w`, "is a directory"},
	{`call netinfo.whois --with {"domain":1}`, "must be text"},
	{`call netinfo.whois --retry x`, "--retry takes a whole number, not \"x\""},
	{`call nope.x`, "unknown plugin"},
	{`runs --limit abc`, "--limit takes a whole number, not \"abc\""},
	{`runs --limit 99999999999999999999`, "--limit takes a whole number"},
	{`runs --attention=maybe`, "--attention takes true or false"},
	{`runs --since yesterday`, "neither"},
	{`runs --cursor zzz`, "is no cursor"},
	{`runs --query 1+*2`, "unexpected `*`"},
	{`runs --query "\q"`, "escape"},
	{`runs show xx/../y`, "there is no run"},
	{`runs logs xyz --tail abc`, "--tail takes a whole number"},
	{`schedules next nope`, "there is no"},
	{`schedules fires --limit x`, "--limit takes a whole number"},
	{`state set st v 1.5`, "expects an integer"},
	{`state set st v @nofile`, "no such file"},
	{`tokens create x --expires abc`, "no length of time"},
	{`db restore flowrun.yaml`, "not valid"},
	{`db backup /nope/x`, "no folder"},
	{`secrets set A --from-file w`, "is a directory"},
	{`serve --listen abc`, "abc (--listen) can't be listened on: it has no port"},
	{`serve --listen 127.0.0.1:99999`, "the port must be a number"},
	{`serve --listen 203.0.113.77:1`, ""},
	{`serve --listen nope.invalid:80`, ""},
	{`init w/a.yaml`, "can't be made: not a directory"},
	{`--state flowrun.yaml runs`, ""},
	{`--state flowrun.yaml run w/st.yaml`, "not a directory"},
	{`--color purple runs`, "takes auto"},
	{`--config p-down.yaml connections test`, "connection refused"},
	{`--config p-proxy.yaml connections test`, "the proxy 127.0.0.1:1: connection refused"},
	{`--config p-ca.yaml connections test`, "no such file"},
	{`--config p-rate.yaml validate`, "is not a rate"},
	{`--config p-plugin.yaml call x.y`, "no such file"},
	{`--config p-true.yaml call x.y`, "did not start"},
	{`--config p-folder.yaml validate`, "no such file"},
	{`--config p-listen.yaml serve`, "has no port"},
	{`--config p-tls.yaml serve`, "no such file"},
	{`--config p-keep.yaml validate`, "is not a duration"},
	{`--config open.yaml runs`, "is not closed"},
}

var badFiles = map[string]string{
	"flowrun.yaml":  "workflows: [w]\n",
	"w/a.yaml":      "flowrun: v1\nname: a\ninputs:\n  n: {type: integer}\n  x: {}\n  when: {type: string, format: date-time}\n  d: {type: string, format: duration}\nsteps:\n  - id: s\n    let: {v: \"${{ inputs.n }}\"}\n",
	"w/st.yaml":     "flowrun: v1\nname: st\nstate:\n  v: {type: integer, default: 1}\nsteps:\n  - id: s\n    set_state: {v: 2}\n",
	"half.json":     "{\"n\": 1,\n \"x\": tru}",
	"list.json":     "[1]",
	"text.json":     `{"n": "abc"}`,
	"latin1.json":   "{\"n\": 1, \"x\": \"\xff\"}",
	"open.yaml":     "n: [1\n",
	"empty.yaml":    "",
	"utf16.yaml":    "\xff\xfea\x00",
	"tab.yaml":      "flowrun: v1\n\tname: x\n",
	"alias.yaml":    "flowrun: v1\nname: x\nsteps: *nope\n",
	"tag.yaml":      "flowrun: v1\nname: x\nsteps: !!binary abc\n",
	"escape.yaml":   "flowrun: v1\nname: \"\\q\"\n",
	"version.yaml":  "%YAML 9.9\n---\nflowrun: v1\n",
	"triggers.yaml": "flowrun: v1\nname: x\ntriggers: {a: {cron: \"99 * * * *\"}, d: {cron: \"* * * * *\", timezone: Mars}}\nsteps: [{id: a, let: {a: 1}}]\n",

	"open.test.yaml":  "flowrun_test: v1\ncases: [a\n",
	"wrong.test.yaml": "flowrun_test: v1\nworkflow: w/a.yaml\ncases:\n  - {name: c, inputs: {n: abc}, expect: {status: zz}}\n",

	"p-down.yaml":   "connections: {n: {plugin: netinfo, config: {base_url: \"http://127.0.0.1:1\"}}}\n",
	"p-proxy.yaml":  "connections: {n: {plugin: netinfo, config: {base_url: \"http://127.0.0.1:9\", proxy: \"http://127.0.0.1:1\"}}}\n",
	"p-ca.yaml":     "connections: {n: {plugin: netinfo, config: {base_url: \"http://127.0.0.1:1\", ca_file: nofile}}}\n",
	"p-rate.yaml":   "connections: {n: {plugin: netinfo, rate: abc, config: {base_url: \"http://x.example\"}}}\n",
	"p-plugin.yaml": "plugins: {x: {source: ./nofile}}\n",
	"p-true.yaml":   "plugins: {x: {source: /bin/true}}\n",
	"p-folder.yaml": "workflows: [nofolder]\n",
	"p-listen.yaml": "server: {listen: abc}\n",
	"p-tls.yaml":    "server: {listen: \"127.0.0.1:0\", tls_cert: nofile, tls_key: nofile}\n",
	"p-keep.yaml":   "retention: {keep: abc}\n",
}

// TestIssue12_16_NoGoWords: whatever is typed wrong, at every command, is told without
// a word of the packages that found it.
func TestIssue12_16_NoGoWords(t *testing.T) {
	t.Parallel()
	binary, dir := buildBinary(t), t.TempDir()
	for name, text := range badFiles {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		write(t, dir, name, text)
	}
	for _, c := range badInputs {
		output, code := flowrunIn(t, binary, dir, strings.Split(c.args, " ")...)
		if code == 0 && !strings.HasSuffix(c.args, " runs") {
			t.Errorf("%s: it is taken\n%s", c.args, output)
		}
		if word := goWords.FindString(output); word != "" {
			t.Errorf("%s: it says %q\n%s", c.args, word, output)
		}
		if !strings.Contains(output, c.says) {
			t.Errorf("%s: it does not say %q\n%s", c.args, c.says, output)
		}
	}
}

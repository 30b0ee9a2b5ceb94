package files

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/flowrun/flowrun/plugins/content"
	"github.com/flowrun/flowrun/sdk"
)

// ReadInput is what files.read takes.
type ReadInput struct {
	Root      string    `json:"root,omitempty" doc:"The root that the file lies in; may be left out where the connection has one alone"`
	Path      string    `json:"path" doc:"The file, from the root" min:"1"`
	Format    string    `json:"format" doc:"What the file holds" enum:"text,lines,json,csv,bytes,blob" default:"text"`
	Answer    sdk.Value `json:"answer,omitempty" doc:"JSON Schema of the document, or of one row of CSV: it types the output"`
	Columns   []string  `json:"columns,omitempty" doc:"Names of the columns of CSV whose first row is data" max:"1000"`
	Delimiter string    `json:"delimiter,omitempty" doc:"What stands between the cells of CSV; a comma where it is not said" min:"1" max:"1"`
	MissingOK bool      `json:"missing_ok" doc:"A file that is not there is an answer with found false" default:"false"`
}

// readOutput is the output of files.read. Which of the last five fields is there, the
// format says: narrowRead.
const readOutput = `{"type":"object","required":["found","root","path"],"properties":{
"found":{"type":"boolean","default":true,"description":"Whether the file is there; false with missing_ok alone"},
"root":{"type":"string","default":"","description":"The root that the file lies in"},
"path":{"type":"string","default":"","description":"The file, from the root"},
"size":{"type":["integer","null"],"description":"Bytes of the file"},
"modified":{"type":["string","null"],"format":"date-time","description":"When its content was changed last"},
"sha256":{"type":["string","null"],"description":"Of its bytes, in hex: what if_sha256 of files.write takes"},
"text":{"type":["string","null"],"description":"With format text"},
"lines":{"type":["array","null"],"items":{"type":"string"},"description":"With format lines"},
"json":{"description":"With format json: what answer says"},
"rows":{"type":["array","null"],"items":{"type":"object"},"description":"With format csv: what answer says, else texts"},
"base64":{"type":["string","null"],"description":"With format bytes"},
"blob":{"anyOf":[{"type":"object","x-flowrun-blob":true},{"type":"null"}],"description":"With format blob: the file as a large value, of any size"}}}`

// checkRead says what of an input does not go together.
func checkRead(in ReadInput, unknown []string) []sdk.Problem {
	var problems []sdk.Problem
	if sdk.IsUnknown(unknown, "/answer") {
		problems = append(problems, sdk.Problemf("/answer", "must be written out: it types the step when the workflow is checked"))
	}
	if sdk.IsUnknown(unknown, "/format") {
		return problems
	}
	if why := content.AnswerProblem(formatOf(in.Format), in.Answer); why != "" && !sdk.IsUnknown(unknown, "/answer") {
		problems = append(problems, sdk.Problemf("/answer", "%s", why))
	}
	return append(problems, csvProblems(in.Format, in.Columns, in.Delimiter)...)
}

// csvProblems says what belongs to CSV alone.
func csvProblems(format string, columns []string, delimiter string) []sdk.Problem {
	var problems []sdk.Problem
	if columns != nil && formatOf(format) != content.CSV {
		problems = append(problems, sdk.Problemf("/columns", "belongs to `format: csv` alone"))
	}
	switch {
	case delimiter != "" && formatOf(format) != content.CSV:
		problems = append(problems, sdk.Problemf("/delimiter", "belongs to `format: csv` alone"))
	case delimiter == "\"" || delimiter == "\n" || delimiter == "\r" || delimiter == "\x00":
		problems = append(problems, sdk.Problemf("/delimiter", "can't stand between cells"))
	}
	return problems
}

// narrowRead types the output by format and answer.
func narrowRead(in ReadInput, unknown []string) sdk.Value {
	if sdk.IsUnknown(unknown, "/format") || sdk.IsUnknown(unknown, "/missing_ok") {
		return nil
	}
	format := formatOf(in.Format)
	answer := in.Answer
	if sdk.IsNull(answer) {
		answer = nil
	}
	field := fieldOf(format)
	of := func(schema string) sdk.Value { // there, unless the file may be missing
		if in.MissingOK {
			return content.OrNull(sdk.Value(schema))
		}
		return sdk.Value(schema)
	}
	held := content.Narrowed(format, answer, "/properties/"+field)
	if in.MissingOK {
		held = content.NarrowedOrNull(format, answer, "/properties/"+field)
	}
	if format == formatBlob {
		held = of(`{"type":"object","x-flowrun-blob":true}`)
	}
	properties := sdk.Members{
		{Name: "found", Value: sdk.Value(`{"type":"boolean","default":true}`)}, {Name: "root", Value: sdk.Value(`{"type":"string","default":""}`)},
		{Name: "path", Value: sdk.Value(`{"type":"string","default":""}`)}, {Name: "size", Value: of(`{"type":"integer","default":0}`)},
		{Name: "modified", Value: of(`{"type":"string","format":"date-time","default":"1970-01-01T00:00:00Z"}`)}, {Name: "sha256", Value: of(`{"type":"string","default":""}`)},
		{Name: field, Value: held},
	}
	return sdk.Members{
		{Name: "type", Value: sdk.Text("object")}, {Name: "properties", Value: properties.JSON()},
		{Name: "required", Value: sdk.JSON([]string{"found", "root", "path", "size", "modified", "sha256", field})},
	}.JSON()
}

func (p *plugin) read(c *call, in ReadInput) (sdk.Value, error) {
	f, err := p.open(c, in.Root)
	if err != nil {
		return nil, err
	}
	defer closed(f)
	name, options := clean(in.Path), in.options()
	answer := sdk.Members{{Name: "found", Value: sdk.Value("true")}, {Name: "root", Value: sdk.Text(f.name)}, {Name: "path", Value: sdk.Text(name)}}
	if options.Format == formatBlob {
		blob, info, err := f.readBlob(c, name)
		if err == nil {
			return append(answer, blobMembers(blob, info)...).JSON(), nil
		}
		return in.missing(answer, err)
	}
	raw, info, err := f.readAll(name, c.Config.MaxBytes)
	if err != nil {
		return in.missing(answer, err)
	}
	held, err := content.Read(raw, options)
	if err != nil {
		return nil, unexpected(f.name, name, err)
	}
	return append(answer,
		sdk.Member{Name: "size", Value: sdk.JSON(len(raw))},
		sdk.Member{Name: "modified", Value: sdk.JSON(info.ModTime().UTC().Format(time.RFC3339Nano))},
		sdk.Member{Name: "sha256", Value: sdk.Text(digest(raw))},
		sdk.Member{Name: options.Format.Field(), Value: held}).JSON(), nil
}

// missing is the answer of a file that is not there and may be missing, else the error.
func (in ReadInput) missing(answer sdk.Members, err error) (sdk.Value, error) {
	if failure := new(sdk.Error); !in.MissingOK || !errors.As(err, &failure) || failure.Code != sdk.CodeNotFound {
		return nil, err
	}
	answer[0].Value = sdk.Value("false")
	for _, field := range []string{"size", "modified", "sha256", fieldOf(formatOf(in.Format))} {
		answer = append(answer, sdk.Member{Name: field, Value: sdk.Value("null")})
	}
	return answer.JSON(), nil
}

// options are how the content is read; the input was checked.
func (in ReadInput) options() content.Options {
	options := content.Options{Format: formatOf(in.Format), Columns: in.Columns, Delimiter: delimiterOf(in.Delimiter)}
	if !sdk.IsNull(in.Answer) {
		options.Answer, _ = sdk.ParseSchema(in.Answer) // checkRead has read it
	}
	return options
}

func delimiterOf(text string) rune {
	for _, sign := range text {
		return sign
	}
	return 0
}

// unexpected makes the error of a file that does not hold what it should.
func unexpected(root, name string, err error) *sdk.Error {
	e := sdk.Refused(sdk.CodeUnexpectedResponse, "%s/%s: %v", root, sdk.Shown(name, 300), err)
	if problem := new(content.Problem); errors.As(err, &problem) {
		e.Hint = problem.Hint
		if problem.Pointer != "" {
			e.Details = map[string]any{"content_pointer": problem.Pointer}
		}
	}
	return e
}

// readAll returns all bytes of an ordinary file of at most so many.
func (f *folder) readAll(name string, most int64) ([]byte, fs.FileInfo, error) {
	file, info, err := f.regular(name)
	if err != nil {
		return nil, nil, err
	}
	defer closed(file)
	raw, err := f.readOpen(file, name, most)
	return raw, info, err
}

// readOpen reads an open file from its beginning.
func (f *folder) readOpen(file *os.File, name string, most int64) ([]byte, error) {
	raw, err := io.ReadAll(io.LimitReader(file, most+1))
	if err != nil {
		return nil, f.fail("read", name, err)
	}
	if int64(len(raw)) > most {
		return nil, sdk.Refused(sdk.CodeUnexpectedResponse, "%s/%s has more than %d bytes", f.name, sdk.Shown(name, 300), most).
			WithReason("too_large").WithHint("set `max_bytes` of the connection higher, up to 64 MiB; an answer has at most 8 MiB")
	}
	return raw, nil
}

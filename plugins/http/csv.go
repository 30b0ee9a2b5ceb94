package http

import (
	"strings"
	"unicode/utf8"

	"github.com/flowrun/flowrun/plugins/content"
	"github.com/flowrun/flowrun/sdk"
)

// readCSV reads the body as a table.
func (how reading) readCSV(r *sdk.Response) (kind string, body sdk.Value, err error) {
	text, err := decoded(r)
	if err != nil {
		return "", nil, answeredAll(err)
	}
	rows, err := readTable(text, how.CSV, how.shape)
	if err != nil {
		failure := r.Fail(sdk.CodeUnexpectedResponse, "the answer is no table as it should be: %s", err.Error())
		failure.Applied = sdk.AppliedFully
		return "", nil, failure
	}
	return kindCSV, rows, nil
}

// readTable reads a CSV; its errors name the line, and the column. The schema is that of a
// row, or of the list of them.
func readTable(text string, form *csvForm, row shape) (sdk.Value, error) {
	if form == nil {
		form = &csvForm{}
	}
	o := content.Options{Format: content.CSV, Columns: form.Columns, Answer: row.Schema, Lenient: true}
	if row.isList() && row.Items() != nil {
		o.Answer = row.Items()
	}
	o.Delimiter, _ = utf8.DecodeRuneInString(or(form.Separator, ","))
	if form.Comment != "" {
		o.Comment, _ = utf8.DecodeRuneInString(form.Comment)
	}
	return content.ReadTable(strings.TrimPrefix(text, "\ufeff"), o)
}

func shown(text string) string { return sdk.Shown(text, 200) }

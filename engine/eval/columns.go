package eval

import (
	"slices"
	"strconv"
	"strings"

	"github.com/expr-lang/expr/ast"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/order"
	"github.com/flowrun/flowrun/engine/schema"
)

// ColumnsOf returns the order in which an author wrote the fields of rows, as far
// as their type tells it: that of a literal, a `collect` or a plugin's schema. It is
// nil where the type names no fields.
func ColumnsOf(rows *schema.Type) []string {
	if rows == nil || rows.Kind != schema.List {
		return nil
	}
	row := rows.Element()
	if row.Kind != schema.Object || len(row.Fields) == 0 {
		return nil
	}
	return row.FieldNames()
}

// checkColumns checks the columns that a call of a table names, and notes the order
// for one that names none.
func (k *call) checkColumns() {
	known := ColumnsOf(k.typeOf(0))
	if len(k.args) == 1 {
		switch {
		case known != nil:
			if k.c.tables == nil {
				k.c.tables = map[ast.Node][]string{}
			}
			k.c.tables[k.node] = known
		case k.c.strict && k.typeOf(0).MaxLength == nil:
			k.c.report(k.c.issueAt(k.node, CodeAny, "the order of the columns is not known").
				hint(`name them: %s(rows, ["a", "b"])`, k.f.name))
		}
		return
	}
	for i := 1; i < len(k.args); i++ {
		if k.badElement(i, k.typeOf(i).Element(), texts) {
			k.wrong(i, "the columns of %s are texts, got %s", k.f.name, k.typeOf(i).Article())
			return
		}
	}
	names, ok := k.args[1].(*ast.ArrayNode)
	if !ok {
		return
	}
	for _, node := range names.Nodes {
		text, literal := node.(*ast.StringNode)
		switch {
		case !literal || known == nil || slices.Contains(known, text.Value):
		case k.typeOf(0).Element().Additional == nil:
			issue := k.c.issueOver(node, CodeField, "the rows have no field `%s`", text.Value)
			issue.Hint = diag.MeantOr(text.Value, known, "they have ")
			k.c.report(issue)
		}
	}
}

// Arranged returns the source of the expression with the order of the columns
// written into the calls of tables that name none, since values have no order.
func (x *Expression) Arranged(scope *Scope) string {
	if !strings.Contains(x.source, "mdTable") && !strings.Contains(x.source, "toCSV") {
		return x.source
	}
	c := checker{x: x, weights: map[*schema.Type]int{}}
	c.infer(x.root, scope)
	type insertion struct {
		at   int
		text string
	}
	var insertions []insertion
	for node, columns := range c.tables {
		start, name := x.at(node)
		end := closingParen(x.source, name)
		if word := x.source[start:name]; end < 0 || word != "mdTable" && word != "toCSV" {
			continue
		}
		before := strings.TrimRight(x.source[:end], " \t\r\n")
		quoted := make([]string, len(columns))
		for i, column := range columns {
			quoted[i] = strconv.Quote(column)
		}
		text := "[], [" + strings.Join(quoted, ", ") + "]"
		if last := before[len(before)-1]; last != '(' && last != ',' {
			text = ", " + text
		}
		insertions = append(insertions, insertion{end, text})
	}
	order.Sort(insertions, func(a, b insertion) int { return b.at - a.at })
	arranged := x.source
	for _, i := range insertions {
		arranged = arranged[:i.at] + i.text + arranged[i.at:]
	}
	if _, issues := Parse(arranged); len(issues) > 0 {
		return x.source // too long, say: the columns are then in the order of their names
	}
	return arranged
}

// closingParen is the offset of the bracket that closes the call whose name ends
// at an offset; -1 when there is none.
func closingParen(source string, name int) int {
	depth := 0
	for at := name; at < len(source); at++ {
		switch b := source[at]; {
		case b == '"' || b == '\'' || b == '`':
			end := literalEnd(source, at)
			if end < 0 {
				return -1
			}
			at = end - 1
		case strings.HasPrefix(source[at:], "//"), strings.HasPrefix(source[at:], "/*"):
			end := commentEnd(source, at)
			if end < 0 {
				return -1
			}
			at = end - 1
		case b == '(':
			depth++
		case b == ')':
			if depth--; depth <= 0 {
				return at
			}
		}
	}
	return -1
}

// columns returns the columns of a table: those that are named, else all fields of
// the rows, those of order first.
func (m *machine) columns(name string, rows *sequence, args []any) ([]string, error) {
	named, err := m.columnNames(name, args, 1)
	if err != nil {
		return nil, err
	}
	found, err := m.fieldsOf(name, rows)
	if err != nil || len(named) > 0 {
		return named, err
	}
	order, err := m.columnNames(name, args, 2)
	if err != nil || len(order) == 0 {
		return found, err
	}
	columns := make([]string, 0, len(found))
	for _, column := range order {
		if slices.Contains(found, column) {
			columns = append(columns, column)
		}
	}
	for _, column := range found {
		if !slices.Contains(columns, column) {
			columns = append(columns, column)
		}
	}
	return columns, m.step(len(order) + len(found))
}

func (m *machine) columnNames(name string, args []any, i int) ([]string, error) {
	if i >= len(args) {
		return nil, nil
	}
	list := args[i].([]any)
	names := make([]string, len(list))
	for j, value := range list {
		text, ok := value.(string)
		if !ok {
			return nil, failf("the columns of %s are texts, got %s", name, article(value))
		}
		names[j] = text
	}
	return names, m.step(len(list))
}

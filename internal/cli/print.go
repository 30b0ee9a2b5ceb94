package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/internal/cli/view"
	"github.com/flowrun/flowrun/internal/web"
)

// outputChoices is the annotation of -o that holds its choices.
const outputChoices = "choices"

// withOutput adds -o with its choices to a command; the first one is the default.
func withOutput(c *cobra.Command, choices ...string) *cobra.Command {
	c.Flags().StringP("output", "o", choices[0], "output: "+strings.Join(choices, ", "))
	c.Flags().ShorthandLookup("o").Annotations = map[string][]string{outputChoices: choices}
	completeFlag(c, "output", choices...)
	return c
}

// withText is withOutput for a command that prints text or one JSON document.
func withText(c *cobra.Command) *cobra.Command { return withOutput(c, "text", "json") }

// readOutput settles what -o of the command says.
func (a *app) readOutput(c *cobra.Command) error {
	flag := c.Flags().ShorthandLookup("o")
	if flag == nil {
		a.output = "text"
		return nil
	}
	a.output = flag.Value.String()
	if choices := flag.Annotations[outputChoices]; !slices.Contains(choices, a.output) {
		return usageError(fmt.Errorf("-o takes %s, not %q", strings.Join(choices, ", "), a.output), diag.DidYouMean(a.output, choices).Text)
	}
	return nil
}

// print prints an answer: as JSON where that is asked for, else as text does.
func (a *app) print(answer any, text func()) error {
	if a.output == "json" {
		return view.JSON(a.sys.Stdout, answer)
	}
	text()
	return nil
}

// tell prints an answer, unless an error stands in its place.
func (a *app) tell(answer any, err error, text func()) error {
	if err != nil {
		return err
	}
	return a.print(answer, text)
}

// say prints a line of text on stdout.
func (a *app) say(format string, args ...any) { fmt.Fprintf(a.sys.Stdout, format+"\n", args...) }

// next suggests a command on stderr.
func (a *app) next(why string, args ...string) { a.page(a.sys.Stderr).Next(a.sys.Stderr, why, args...) }

// printPage prints a page of a list, nil for an empty one, unless it could not be
// read; none is the note where nothing is on it.
func printPage[T any](a *app, page *web.Page[T], err error, none string, show func(view.Page, io.Writer, []T)) error {
	if page == nil {
		page = &web.Page[T]{}
	}
	if page.Items == nil {
		page.Items = []T{}
	}
	return a.tell(page, err, func() {
		if len(page.Items) == 0 {
			a.note("%s", none)
			return
		}
		show(a.page(a.sys.Stdout), a.sys.Stdout, page.Items)
		if page.NextCursor != nil {
			a.note("there are more: --limit N, or --cursor %s", *page.NextCursor)
		}
	})
}

// printList is printPage for a whole list.
func printList[T any](a *app, items []T, err error, none string, show func(view.Page, io.Writer, []T)) error {
	return printPage(a, &web.Page[T]{Items: items}, err, none, show)
}

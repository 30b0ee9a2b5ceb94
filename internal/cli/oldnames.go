package cli

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// oldValue is a flag's value under a name of before.
type oldValue struct {
	pflag.Value
	said func()
}

// Set sets the value, and says how it is named now.
func (v oldValue) Set(text string) error {
	v.said()
	return v.Value.Set(text)
}

// oldFlag keeps a name of before for a flag, which must be there: it works, is not
// shown, and says on stderr how the flag is named now.
func (a *app) oldFlag(c *cobra.Command, old, shorthand, now string) {
	flag := c.Flags().Lookup(now)
	if flag == nil {
		panic(fmt.Sprintf("%s has no flag --%s", c.Name(), now)) // a mistake in this package
	}
	c.Flags().AddFlag(&pflag.Flag{
		Name: old, Shorthand: shorthand, Usage: flag.Usage, DefValue: flag.DefValue, Hidden: true,
		Value: oldValue{flag.Value, func() { a.renamed("--"+old, "--"+now) }},
	})
}

// renamed says that a flag has another name by now.
func (a *app) renamed(old, now string) { a.note("%s is %s now; the old name still works", old, now) }

// outputsOrFormat is -o of `runs resolve`: --output gave the outputs of the step before,
// which nobody takes for a format.
type outputsOrFormat struct {
	pflag.Value
	outputs *string
	said    func()
}

// Set takes outputs for what they are, and all else for a format.
func (v outputsOrFormat) Set(text string) error {
	if !json.Valid([]byte(text)) && !strings.HasPrefix(text, "@") {
		return v.Value.Set(text)
	}
	v.said()
	*v.outputs = text
	return nil
}

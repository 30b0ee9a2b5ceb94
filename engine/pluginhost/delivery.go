package pluginhost

import (
	"fmt"

	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/schema"
)

// checkDelivery looks up the action that delivers outputs: it does something, and takes
// each part as text in an input of its own.
func (c *contract) checkDelivery() error {
	d := c.Delivery
	if d == nil {
		return nil
	}
	a := c.action(d.Action)
	switch {
	case a == nil:
		return fmt.Errorf("its action %q does not exist", d.Action)
	case a.Effect == plan.EffectRead:
		return fmt.Errorf("its action %s is a read: it delivers nothing", d.Action)
	}
	taken := map[string]string{}
	for _, part := range []struct {
		name, input string
		needed      bool
	}{{"content", d.Content, true}, {"markdown", d.Markdown, false}, {"path", d.Path, false}, {"title", d.Title, false}} {
		if part.input == "" && !part.needed {
			continue
		}
		field, there := a.input.Field(part.input)
		if !there {
			return fmt.Errorf("the input of action %s has no `%s` for the %s", d.Action, part.input, part.name)
		}
		if misfit := schema.Of(schema.String).Fits(field); misfit != nil {
			return fmt.Errorf("the input `%s` of action %s, the %s: %w", part.input, d.Action, part.name, misfit)
		}
		if other := taken[part.input]; other != "" {
			return fmt.Errorf("the input `%s` of action %s can't take both %s and %s", part.input, d.Action, other, part.name)
		}
		taken[part.input] = part.name
	}
	return nil
}

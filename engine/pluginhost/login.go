package pluginhost

import (
	"errors"
	"fmt"

	"github.com/flowrun/flowrun/engine/schema"
)

// checkLogin looks up the actions of a login: they take what the host gives them
// and nothing more must be given, and they answer with what it reads.
func (c *contract) checkLogin() error {
	login := c.Login
	if login == nil {
		return nil
	}
	text, flag, end := schema.Of(schema.String), schema.Of(schema.Bool), schema.Of(schema.Time)
	texts, flow := schema.ListOf(text), schema.Required("flow_id", text)
	return errors.Join(
		c.checkLoginAction("start", login.Start, true, []schema.Field{schema.Required("scopes", texts)}, []schema.Field{
			flow, schema.Optional("user_code", text), schema.Optional("verification_url", text), schema.Optional("expires_at", end),
		}),
		c.checkLoginAction("wait", login.Wait, true, []schema.Field{flow}, []schema.Field{
			schema.Optional("scopes", texts), schema.Optional("missing_scopes", texts), schema.Optional("expires_at", end),
		}),
		c.checkLoginAction("status", login.Status, false, nil, []schema.Field{
			schema.Required("state", text), schema.Optional("renewable", flag), schema.Optional("expires_at", end),
			schema.Optional("refresh_expires_at", end), schema.Optional("scopes", texts),
		}),
		c.checkLoginAction("revoke", login.Revoke, false, []schema.Field{schema.Required("forget", flag)}, []schema.Field{schema.Required("revoked", flag)}),
	)
}

// checkLoginAction checks the action of one part. Of what is given an action may leave
// out all but flow_id; of what is read it may leave out what is optional.
func (c *contract) checkLoginAction(part, name string, needed bool, gives, reads []schema.Field) error {
	if name == "" {
		if needed {
			return fmt.Errorf("it names no action for %s", part)
		}
		return nil
	}
	a := c.action(name)
	if a == nil {
		return fmt.Errorf("its action %q for %s does not exist", name, part)
	}
	var given []schema.Field
	for _, field := range gives {
		if _, taken := a.input.Field(field.Name); taken || field.Name == "flow_id" {
			given = append(given, field)
		}
	}
	if misfit := schema.ObjectOf(given...).Fits(a.input); misfit != nil {
		return fmt.Errorf("the input of action %s, its %s: %w", name, part, misfit)
	}
	for _, field := range reads {
		got, there := a.clearOutput.Field(field.Name)
		want := field.Type
		if !field.Required {
			want = schema.Nullable(want)
		}
		switch {
		case !there && field.Required:
			return fmt.Errorf("the output of action %s, its %s: it has no `%s`", name, part, field.Name)
		case !there:
			continue
		}
		if misfit := got.Fits(want); misfit != nil {
			return fmt.Errorf("the output of action %s, its %s: `%s` %w", name, part, field.Name, misfit)
		}
	}
	return nil
}

package check

import (
	"regexp"
	"sync"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/schema"
	"github.com/flowrun/flowrun/engine/spec"
)

// headerPattern is a header's name (RFC 9110).
var headerPattern = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(spec.HeaderPattern) })

// webhook checks a trigger that a request fires.
func (t *trigger) webhook(node *spec.Node) {
	c, out := t.c, &plan.Webhook{}
	t.out.Webhook = out
	body := schema.Of(schema.Any)
	if value := node.Get("body"); value != nil {
		body = c.bodySchema(value, out)
	}
	t.reads = []string{requestKey}
	t.scope = t.scope.With(requestKey, requestType(body))
	c.fields(node, "webhook", map[string]reader{
		"auth":   func(_ *spec.Key, n *spec.Node) { c.webhookAuth(n, out) },
		"dedupe": func(_ *spec.Key, n *spec.Node) { t.dedupe(n, out) },
		"body":   func(*spec.Key, *spec.Node) {},
	})
}

// requestType is `request` (docs/language.md, "Keys"). Header names
// are in lower case.
func requestType(body *schema.Type) *schema.Type {
	text := schema.Of(schema.String)
	return schema.ObjectOf(
		schema.Required("method", text),
		schema.Required("headers", schema.MapOf(schema.Nullable(text))),
		schema.Required("query", schema.MapOf(schema.Nullable(text))),
		schema.Required("body", body),
	)
}

func (c *checker) bodySchema(node *spec.Node, out *plan.Webhook) *schema.Type {
	if node.Bad {
		return schema.Of(schema.Any)
	}
	r := inputReader{c: c, noBlobs: noBlobFromPeople}
	text, _ := r.schema(node, "the body")
	if r.bad {
		return schema.Of(schema.Any)
	}
	t, err := schema.FromJSON(text)
	if err != nil {
		return schema.Of(schema.Any) // schema has looked at it
	}
	out.Body = text
	return t
}

// webhookAuth checks how the sender shows who it is: exactly one way.
func (c *checker) webhookAuth(node *spec.Node, out *plan.Webhook) {
	hmac, signed := node.Pair("hmac_sha256")
	token, tokened := node.Pair("token")
	switch {
	case signed && tokened:
		second := hmac
		if hmac.Key.Pos.Before(token.Key.Pos) {
			second = token
		}
		c.errorAt(second.Key.Pos, CodeTriggerKind, "a webhook has one `auth`: `hmac_sha256` or `token`")
		return
	case len(node.Pairs) == 0: // another key is told as such
		c.errorAt(node.FirstKey(), CodeMissing, "`auth` needs `hmac_sha256` or `token`").Hint = diag.Say("a webhook without a secret could be called by anybody")
	}
	c.fields(node, "auth", map[string]reader{
		"hmac_sha256": func(_ *spec.Key, n *spec.Node) { c.hmac(n, out) },
		"token":       func(_ *spec.Key, n *spec.Node) { out.Token = c.triggerSecret(n) },
	})
}

func (c *checker) hmac(node *spec.Node, out *plan.Webhook) {
	signed := &plan.WebhookHMAC{}
	out.HMAC = signed
	c.fields(node, "hmac_sha256", map[string]reader{
		"secret": func(_ *spec.Key, n *spec.Node) {
			if secret := c.triggerSecret(n); secret != nil {
				signed.Secret = *secret
			}
		},
		"header": func(key *spec.Key, n *spec.Node) { c.header(key, n, &signed.Header) },
		"prefix": func(key *spec.Key, n *spec.Node) {
			if c.scalar(n, key.What) {
				signed.Prefix = n.Text
			}
		},
		"timestamp_header": func(key *spec.Key, n *spec.Node) { c.header(key, n, &signed.TimestampHeader) },
	})
}

func (c *checker) header(key *spec.Key, node *spec.Node, place *string) {
	if !c.scalar(node, key.What) {
		return
	}
	if !headerPattern().MatchString(node.Text) {
		c.errorAt(node.Pos, CodeName, "`%s` is not the name of a header", node.Text).Hint = diag.Say("write one such as X-Signature")
		return
	}
	*place = node.Text
}

// triggerSecret checks a value that is a secret reference.
func (c *checker) triggerSecret(node *spec.Node) *plan.Value {
	if node.Kind != spec.Scalar {
		c.errorAt(node.Pos, CodeShape, "a secret is expected, not a %s", node.Kind).Hint = diag.Say("write ${{ secrets.NAME }}")
		return nil
	}
	c.triggerReads(node)
	v := valuer{c: c, scope: c.triggerScope(), field: true}
	before := len(c.problems)
	out := v.value(node, schema.SecretText(), "", false)
	if v.bad || len(c.problems) > before {
		return nil
	}
	if out.plan.Kind != plan.ValueSecret {
		c.errorAt(node.Pos, CodeForgedSecret, "a secret is expected here, not a value").Hint = diag.Say("write ${{ secrets.NAME }}")
		return nil
	}
	return &out.plan
}

// dedupe checks the key that makes two requests one run.
func (t *trigger) dedupe(node *spec.Node, out *plan.Webhook) {
	if node.Kind != spec.Scalar {
		t.c.errorAt(node.Pos, CodeShape, "`dedupe` must be text, not a %s", node.Kind).Hint = diag.Say("write `dedupe: ${{ request.headers[\"x-event-id\"] ?? \"\" }}`")
		return
	}
	t.c.triggerReads(node, requestKey)
	v := valuer{c: t.c, scope: t.scope}
	if found := v.value(node, schema.Of(schema.String), "", false); !v.bad {
		out.Dedupe = &found.plan
	}
}

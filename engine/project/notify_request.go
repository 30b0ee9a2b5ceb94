package project

import (
	"mime"
	"net/http"
	"net/textproto"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/spec"
)

// maxNotifyHeaders is how many headers a target may have.
const maxNotifyHeaders = 32

var headerPattern = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(spec.HeaderPattern) })

// ownHeaders are the headers that flowrun sets itself, and those that say where a
// request begins, ends and goes: a project can't name them.
func ownHeaders() []string {
	return []string{
		"Connection", "Content-Encoding", "Content-Length", "Content-Type", "Cookie", "Expect", "Host", "Idempotency-Key", "Keep-Alive",
		"Te", "Trailer", "Transfer-Encoding", "Upgrade", "User-Agent",
	}
}

// onlyWebhooks refuses, beside a command, what belongs to a webhook.
func (p *parser) onlyWebhooks(target *spec.Node) {
	for _, pair := range target.Pairs {
		if slices.Contains([]string{"body", "headers", "method", "content_type"}, pair.Key.Text) {
			p.problems.Errorf(pair.Key.Pos, CodeTargetKind, "`%s` belongs to a webhook", pair.Key.Text).Hint =
				diag.Say("a command gets the message as JSON on its standard input, and makes of it what it likes")
		}
	}
}

func (p *parser) notifyHeaders(n *spec.Node, target *Notify) {
	if n.Kind != spec.Mapping {
		p.problems.Errorf(n.Pos, CodeShape, "`headers` must be a mapping of names")
		return
	}
	seen := map[string]bool{}
	for i, pair := range n.Pairs {
		name := textproto.CanonicalMIMEHeaderKey(pair.Key.Text)
		switch {
		case i == maxNotifyHeaders:
			p.problems.Errorf(pair.Key.Pos, CodeTarget, "a target has at most %d headers", maxNotifyHeaders)
			return
		case !headerPattern().MatchString(pair.Key.Text):
			p.problems.Errorf(pair.Key.Pos, CodeTarget, "`%s` is not the name of a header", pair.Key.Text)
		case name == "Content-Type":
			p.problems.Errorf(pair.Key.Pos, CodeTarget, "the header `%s` can't be set here", pair.Key.Text).Hint = diag.Say("write `content_type` beside `headers`")
		case slices.Contains(ownHeaders(), name) || strings.HasPrefix(name, "Proxy-"):
			p.problems.Errorf(pair.Key.Pos, CodeTarget, "the header `%s` can't be set here", pair.Key.Text).Hint =
				diag.Say("flowrun sets it, or it says where the request ends")
		case seen[name]:
			p.problems.Errorf(pair.Key.Pos, CodeTarget, "the header `%s` stands here twice", pair.Key.Text)
		case pair.Value.Kind != spec.Scalar || pair.Value.Text == "":
			p.problems.Errorf(pair.Value.Pos, CodeShape, "a header must be text")
		default:
			target.Request.Headers = append(target.Request.Headers, pair)
		}
		seen[name] = true
	}
}

func (p *parser) notifyMethod(n *spec.Node, target *Notify) {
	methods := []string{http.MethodPost, http.MethodPut}
	if text := p.text(n, "`method`"); text != "" && !slices.Contains(methods, text) {
		p.problems.Errorf(n.Pos, CodeTarget, "`%s` is no method of a webhook", text).Hint = diag.MeantOr(text, methods, "it is one of ")
		return
	}
	target.Request.Method = n.Text
}

func (p *parser) notifyContentType(n *spec.Node, target *Notify) {
	text := p.text(n, "`content_type`")
	if text == "" {
		return
	}
	if kind, _, err := mime.ParseMediaType(text); err != nil || !strings.Contains(kind, "/") {
		p.problems.Errorf(n.Pos, CodeTarget, "`%s` is not a media type", text).Hint = diag.Say("write type/subtype, such as text/plain; charset=utf-8")
		return
	}
	target.Request.ContentType = text
}

package pluginhost

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/flowrun/flowrun/engine/runs"
	pluginv1 "github.com/flowrun/flowrun/sdk/proto/pluginv1"
)

// link is one named connection inside one process.
type link struct {
	turn chan struct{} // holds one element while somebody connects
	hash string        // of the config it was opened with; guarded by turn

	owner atomic.Pointer[Connection] // where its tokens come from (token_from); nil = the plugin itself

	mu       sync.Mutex
	token    string // id of the token that it was given last
	rejected string // id of a token that the service refused
}

// link returns the connection's entry, made if need be.
func (p *process) link(name string) *link {
	p.linking.Lock()
	defer p.linking.Unlock()
	if p.links[name] == nil {
		p.links[name] = &link{turn: make(chan struct{}, 1)}
	}
	return p.links[name]
}

// linked returns the entry of a connection that was opened, or is being opened,
// in this process; nil for all others.
func (p *process) linked(name string) *link {
	p.linking.Lock()
	defer p.linking.Unlock()
	return p.links[name]
}

// opened is a connection with its config in clear, ready to be sent.
type opened struct {
	name   string
	owner  *Connection
	config clearDocument
	hash   string
	recipe []byte // of the plugin's description
}

// open reveals a connection's config and checks it.
func (h *Host) open(ctx context.Context, c *contract, conn Connection) (opened, *runs.Error) {
	name := cmp.Or(conn.Name, c.Name)
	if conn.Plugin != "" && conn.Plugin != c.Name {
		return opened{}, invalid("", "connection %q belongs to plugin %s, not to %s", name, conn.Plugin, c.Name)
	}
	if h.options.Gate != nil {
		if refused := h.options.Gate.Admit(c.Name, conn); refused != nil {
			return opened{}, refused
		}
	}
	config, failure := h.reveal(ctx, conn.Config, c.config, conn.Secrets)
	if failure != nil {
		return opened{}, atConnection(failure, name)
	}
	sum := sha256.Sum256(config.json)
	hash := h.judged.hash(name, c, sum)
	if hash == "" {
		if _, err := c.config.WithoutSecrets().Decode(config.json); err != nil {
			return opened{}, atConnection(invalid("", "%v", err), name)
		}
		var err error
		if hash, err = h.configHash(config.json); err != nil {
			return opened{}, asFailure(err)
		}
		h.judged.put(name, judgedConfig{contract: c, sum: sum, hash: hash})
	}
	return opened{name: name, owner: conn.TokenFrom, config: config, hash: hash, recipe: c.Recipe}, nil
}

// judgedConfigs remembers the config of each connection that was checked last, so that
// it is not for each call. They are told apart by their digests: what they hold is not kept.
type judgedConfigs struct {
	mu     sync.Mutex
	byName map[string]judgedConfig
}

type judgedConfig struct {
	contract *contract // whose schema it fits
	sum      [sha256.Size]byte
	hash     string // configHash
}

// hash is that of a config which was checked; "" = it was not.
func (j *judgedConfigs) hash(name string, c *contract, sum [sha256.Size]byte) string {
	j.mu.Lock()
	defer j.mu.Unlock()
	if known := j.byName[name]; known.contract == c && known.sum == sum {
		return known.hash
	}
	return ""
}

func (j *judgedConfigs) put(name string, judged judgedConfig) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.byName == nil {
		j.byName = map[string]judgedConfig{}
	}
	j.byName[name] = judged
}

// atConnection makes a failure one of the connection: its pointer does not lead
// into a step's `with`.
func atConnection(failure *runs.Error, name string) *runs.Error {
	failure.Message = fmt.Sprintf("connection %q: %s", name, failure.Message)
	failure.Pointer = ""
	failure.Applied = runs.NotApplied
	return failure
}

// configHash tells configs apart, also by their secrets, under a key of this
// host alone: the plugin can't try values against a plain hash of another's.
func (h *Host) configHash(config []byte) (string, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.hashKey == nil {
		key := make([]byte, 32)
		if _, err := io.ReadFull(h.options.Entropy, key); err != nil {
			return "", fmt.Errorf("make key of config hashes: %w", err)
		}
		h.hashKey = key
	}
	sum := hmac.New(sha256.New, h.hashKey)
	sum.Write(config)
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// connect opens the connection in the process, unless it is open with the same
// config. Calls that need it at the same time wait for one Connect.
func (p *process) connect(ctx context.Context, o opened) *runs.Error {
	l := p.link(o.name)
	select {
	case l.turn <- struct{}{}:
		defer func() { <-l.turn }()
	case <-ctx.Done():
		return atConnection(contextFailure(ctx), o.name)
	}
	l.owner.Store(o.owner)
	if l.hash == o.hash {
		return nil
	}
	response, err := p.rpc.Connect(ctx, &pluginv1.ConnectRequest{
		Connection: o.name, ConfigHash: o.hash, Recipe: o.recipe,
		Config: &pluginv1.Value{Json: o.config.json, Sensitive: o.config.sensitive},
	})
	if err != nil {
		return atConnection(p.brokenCall(ctx, err), o.name)
	}
	var problems []string
	for _, d := range diagnosticsOf(response.GetDiagnostics()) {
		if d.Error {
			problems = append(problems, d.text())
		}
	}
	if len(problems) > 0 {
		return atConnection(invalid("", "%s", strings.Join(problems, "; ")), o.name)
	}
	l.hash = o.hash
	return nil
}

func (d Diagnostic) text() string {
	text := d.Summary
	if d.Detail != "" {
		text += ": " + d.Detail
	}
	if d.Pointer != "" {
		text = d.Pointer + ": " + text
	}
	return text
}

// gave notes the token that the plugin has got for the connection.
func (l *link) gave(id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.token = id
	if id != l.rejected {
		l.rejected = ""
	}
}

// reject notes that the service refused the last token, for plugins that do not
// say which call uses which. It returns its id, "" when the plugin had none.
func (l *link) reject() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.token == "" {
		return ""
	}
	l.rejected, l.token = l.token, ""
	return l.rejected
}

// refused returns the id of the token that must not be handed out again.
func (l *link) refused() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.rejected
}

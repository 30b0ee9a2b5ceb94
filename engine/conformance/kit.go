package conformance

import (
	"cmp"
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/flowrun/flowrun/engine/schema"
	pluginv1 "github.com/flowrun/flowrun/sdk/proto/pluginv1"
)

// kit is one test of one plugin.
type kit struct {
	Options
	service   *service
	memory    *memory
	ear       *ear
	canaries  *canaries
	env       map[string]string // granted variables
	processes []*process
	current   *process

	described     *pluginv1.DescribeResponse
	told          told
	actions       []*action
	startError    error
	describeError error

	connection  []byte // config of the connection
	connectTo   error  // why Connect did not take it
	unconnected string // why there is no connection; "" = there is one
	standsIn    bool   // nothing real is reached: every call may be made
	calls       []*call
	readings    map[*call][]page
	streaming   atomic.Bool // calls go by ExecuteStream

	failed  []string // ids of cases
	refused string   // why the host refuses the description
}

// action is an action with its schemas read; nil = they can't be.
type action struct {
	*pluginv1.Action
	input, output *schema.Type
}

func (a *action) reads() bool { return a.GetEffect() == pluginv1.Effect_EFFECT_READ }

func newKit(o Options) (*kit, error) {
	k := &kit{Options: o, memory: newMemory(), canaries: &canaries{}, env: maps.Clone(o.Config.Env), readings: map[*call][]page{}}
	k.ear = &ear{}
	if k.env == nil {
		k.env = map[string]string{}
	}
	var err error
	if k.service, err = serveService(o.Config.Service, o.Config.Answers); err != nil {
		return nil, err
	}
	return k, nil
}

func (k *kit) close() {
	for _, p := range k.processes {
		p.kill()
	}
	k.service.close()
}

// canary is a text that nobody writes by chance.
func (k *kit) canary(what string) string {
	random := make([]byte, 9)
	if _, err := io.ReadFull(k.Entropy, random); err != nil {
		return ""
	}
	text := "canary" + hex.EncodeToString(random)
	k.canaries.add(what, text)
	return text
}

// prepare starts the plugin, has it describe itself, opens its connection and makes the
// calls that the cases go by. What fails is told by the case that it belongs to.
func (k *kit) prepare(ctx context.Context) {
	p, err := k.plugin(ctx)
	if err != nil {
		k.startError = err
		return
	}
	bounded, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	if err := k.describe(bounded, p); err != nil {
		k.described, k.describeError = nil, err
		return
	}
	k.ear.hear("the description", k.described)
	for _, a := range k.described.GetActions() {
		known := &action{Action: a}
		known.input, _ = schema.FromJSON(a.GetInputSchema()) // describe.schemas tells
		known.output, _ = schema.FromJSON(a.GetOutputSchema())
		k.actions = append(k.actions, known)
	}
	for _, name := range k.described.GetWants().GetEnv() {
		if k.env[name] == "" {
			k.env[name] = k.canary("the granted variable " + name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(k.Config.Env)) {
		if holdsSecret(name) {
			k.canaries.add("the granted variable "+name, k.env[name])
		}
	}
	if k.told.base != nil && k.Config.With == nil && len(k.actions) == 0 {
		// what its connections take follows from what it is told
		k.unconnected = "it is told nothing, and has no actions: see `with` of --config"
		return
	}
	k.unconnected = k.chooseConnection(ctx)
	if k.unconnected == "" {
		k.connectTo = k.connect(ctx, p)
		if k.connectTo != nil {
			k.unconnected = "its connection can't be opened: see connect.takes"
		}
	}
	if k.unconnected == "" {
		k.chooseCalls(ctx)
	}
}

// holdsSecret reports whether a variable that an author gives a value is one of a secret, by
// its name. A path, a region or a mode is told by many a plugin, and stands in reports.
func holdsSecret(name string) bool {
	for word := range strings.SplitSeq(strings.ToUpper(name), "_") {
		switch word {
		case "KEY", "APIKEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "PASSPHRASE", "CREDENTIAL", "CREDENTIALS", "PAT":
			return true
		}
	}
	return false
}

func (k *kit) describeRequest() *pluginv1.DescribeRequest {
	return &pluginv1.DescribeRequest{HostVersion: cmp.Or(k.Version, "kit"), ProtocolMinor: 1, Host: &pluginv1.Capabilities{Features: []string{"state", "tokens", "token_peek", "page_note", "all_pages", "settings", "blobs"}}}
}

// plugin returns a running process of the plugin.
func (k *kit) plugin(ctx context.Context) (*process, error) {
	if k.current != nil && k.current.alive() {
		return k.current, nil
	}
	p, err := k.start(ctx)
	if err != nil {
		return nil, err
	}
	k.current = p
	return p, nil
}

// connected returns a running process with the connection open.
func (k *kit) connected(ctx context.Context) (*process, error) {
	p, err := k.plugin(ctx)
	if err != nil {
		return nil, fmt.Errorf("start it again: %w", err)
	}
	return p, k.connect(ctx, p)
}

// fresh returns a new process with the connection open; the one before was killed, as by
// kill -9.
func (k *kit) fresh(ctx context.Context) (*process, error) {
	if k.current != nil {
		k.current.kill()
		k.memory.releaseLeases()
	}
	return k.connected(ctx)
}

// action finds an action by its name.
func (k *kit) action(name string) *action {
	for _, a := range k.actions {
		if a.GetName() == name {
			return a
		}
	}
	return nil
}

// clean takes what differs from test to test out of a text for a report, and secrets.
func (k *kit) clean(text string) string {
	text = k.canaries.mask(text)
	text = strings.ReplaceAll(text, k.service.url, "http://SERVICE")
	text = strings.ReplaceAll(text, strings.TrimPrefix(k.service.url, "http://"), "SERVICE")
	for _, p := range k.processes {
		text = strings.ReplaceAll(text, p.folder, "FOLDER")
	}
	return text
}

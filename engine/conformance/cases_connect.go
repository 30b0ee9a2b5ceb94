package conformance

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/flowrun/flowrun/engine/schema"
	pluginv1 "github.com/flowrun/flowrun/sdk/proto/pluginv1"
)

func connectCases() []testCase {
	return []testCase{
		{
			id: "connect.takes", title: "opens a connection with a good config", needs: needsDescription, section: "connect",
			contract: "Connect opens a named connection; what is wrong with a config is a diagnostic.",
			change:   "take the config that fits the schema, or say in the schema what else it asks for",
			run: func(_ context.Context, k *kit) error {
				if k.connectTo != nil {
					return k.connectTo
				}
				if k.unconnected != "" {
					return skip(k.unconnected)
				}
				return nil
			},
		},
		{
			id: "connect.refuses", title: "refuses a wrong config with a pointer", needs: needsDescription, section: "connect",
			contract: "A wrong config is a diagnostic with a pointer into the config, not a gRPC error.",
			change:   "check the config in Connect as an input is checked: unknown and missing names, wrong kinds; answer with diagnostics",
			run:      refusesConfig,
		},
		{
			id: "connect.quiet", title: "uses no network to open a connection", needs: needsConnection, section: "connect",
			contract: "Connect uses no network.",
			change:   "log in and look around with the first call, or in CheckConnection",
			run: func(ctx context.Context, k *kit) error {
				p, err := k.plugin(ctx)
				if err != nil {
					return err
				}
				k.service.pass()
				r := &pluginv1.ConnectRequest{Connection: "kit-quiet", Config: &pluginv1.Value{Json: k.connection}, ConfigHash: "quiet"}
				if _, err := p.rpc.Connect(p.authorized(ctx), r); err != nil {
					return fault("Connect", "the gRPC error %v", err)
				}
				if seen := k.service.seen(); len(seen) > 0 {
					return fault("Connect with "+string(k.connection), "it sent %s", seen[0])
				}
				return nil
			},
		},
		{
			id: "connect.newer", title: "takes a Connect of a newer host", needs: needsConnection, section: "changes",
			contract: "Inside v1 only additions: a plugin takes messages with fields that it does not know.",
			change:   "ignore unknown fields of messages",
			run: func(ctx context.Context, k *kit) error {
				p, err := k.plugin(ctx)
				if err != nil {
					return err
				}
				r := &pluginv1.ConnectRequest{Connection: "kit-newer", Config: &pluginv1.Value{Json: k.connection}, ConfigHash: "newer"}
				unknownField(r)
				response, err := p.rpc.Connect(p.authorized(ctx), r)
				if err != nil {
					return fault("Connect with an unknown field 1999", "the gRPC error %v", err)
				}
				if refused := errorsIn(response.GetDiagnostics()); len(refused) > 0 {
					return fault("Connect with an unknown field 1999", "%s", saidOf(refused))
				}
				return nil
			},
		},
		{
			id: "connect.replaces", title: "uses the new config after a second Connect", needs: needsConnection, section: "connect",
			contract: "The same config_hash again changes nothing, another replaces it while calls in flight keep the old one.",
			change:   "keep connections by name, and put the new config in the place of the old one when the hash differs",
			run:      replacesConfig,
		},
		{
			id: "connect.check", title: "answers CheckConnection", needs: needsConnection, section: "checkconnection",
			contract: "CheckConnection makes one harmless request, and answers with the error or with whose account it is. A plugin that asks nothing of the service says not_tried, and in note why.",
			change:   "make one request that changes nothing; where there is none, answer not_tried: true",
			run:      checksConnection,
		},
	}
}

func refusesConfig(ctx context.Context, k *kit) error {
	p, err := k.plugin(ctx)
	if err != nil {
		return err
	}
	t, err := schema.FromJSON(k.described.GetConfigSchema())
	if err != nil || t.Kind != schema.Object {
		return skip("its config has no schema of an object")
	}
	base := map[string]any{}
	_ = json.Unmarshal(k.connection, &base) // it was written from an object; without one the config is empty
	wrongs := map[string]map[string]any{}
	if !t.Open && t.Additional == nil {
		wrongs["/"+unknownName] = with(base, unknownName, 1)
	}
	for _, f := range t.Fields {
		if _, given := base[f.Name]; given && f.Required && f.Type.Default == nil {
			wrongs["/"+f.Name] = without(base, f.Name)
		}
	}
	if len(wrongs) == 0 {
		return skip("every config fits its schema")
	}
	for pointer, config := range wrongs {
		doc, _ := json.Marshal(config) // of JSON values
		sent := "Connect with " + brief(doc)
		response, err := p.rpc.Connect(p.authorized(ctx), &pluginv1.ConnectRequest{Connection: "kit-wrong", Config: &pluginv1.Value{Json: doc}, ConfigHash: pointer})
		if err != nil {
			return fault(sent, "the gRPC error %v", err)
		}
		refused := errorsIn(response.GetDiagnostics())
		found := false
		for _, d := range refused {
			found = found || d.GetPointer() == pointer
		}
		if !found {
			return fault(sent, "no error at %s: %s", pointer, saidOf(response.GetDiagnostics()))
		}
	}
	return nil
}

// replacesConfig opens the connection with the address of a second stub: the requests must
// go there.
func replacesConfig(ctx context.Context, k *kit) error {
	calls := k.seenCalls((*call).reads)
	if len(calls) == 0 || !strings.Contains(string(k.connection), k.service.url) {
		return skip("no call of a read sends a request that comes by the kit")
	}
	other, err := k.service.anotherService(Answer{Status: 503})
	if err != nil {
		return err
	}
	defer other.close()
	p, err := k.fresh(ctx)
	if err != nil {
		return err
	}
	moved := strings.ReplaceAll(string(k.connection), k.service.url, other.url)
	if _, err := p.rpc.Connect(p.authorized(ctx), &pluginv1.ConnectRequest{Connection: connectionName, Config: &pluginv1.Value{Json: []byte(moved)}, ConfigHash: "moved"}); err != nil {
		return fault("Connect with another config_hash", "the gRPC error %v", err)
	}
	p.opened[connectionName] = "moved"
	k.service.pass()
	ended := k.execute(ctx, p, k.request(calls[0], k.key()))
	seen, old := other.seen(), k.service.seen()
	p.kill() // the next case begins with the config of before
	if len(seen) == 0 || len(old) > 0 {
		return fault("Connect, and Connect again with another address and config_hash, and "+calls[0].String(),
			"%d requests at the new address and %d at the old one; the call ended with %s", len(seen), len(old), ended)
	}
	return nil
}

func checksConnection(ctx context.Context, k *kit) error {
	p, err := k.connected(ctx)
	if err != nil {
		return err
	}
	k.service.pass()
	response, err := p.rpc.CheckConnection(p.authorized(ctx), &pluginv1.CheckConnectionRequest{Connection: connectionName})
	if err != nil {
		return fault("CheckConnection", "the gRPC error %v", err)
	}
	k.ear.hear("what CheckConnection says", response)
	if response.GetNotTried() && response.GetError() == nil {
		if seen := k.service.seen(); len(seen) > 0 {
			return fault("CheckConnection", "not_tried, but it sent %s", seen[0])
		}
	}
	for _, r := range k.service.seen() {
		if strings.HasPrefix(r.method, "DELETE") || r.method == "PUT" || r.method == "PATCH" {
			return fault("CheckConnection", "it sent %s, which may change something", r)
		}
	}
	if len(k.service.seen()) == 0 && !response.GetNotTried() && response.GetError() == nil && len(k.seenCalls(nil)) > 0 && response.GetAccount() == "" {
		return advise("answer not_tried: true where nothing is asked of the service", "CheckConnection", "an answer without an error, though the service was asked nothing")
	}
	return nil
}

package conformance

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/flowrun/flowrun/sdk/proto/handshake"
	pluginv1 "github.com/flowrun/flowrun/sdk/proto/pluginv1"
)

// unknownSetting is a name that no config has.
const unknownSetting = "flowrun_kit_no_such_setting"

// looksAtConfigs asks about inputs that are good with the config of the connection: without
// it, and with one that is wrong.
func looksAtConfigs(ctx context.Context, k *kit) error {
	if !slices.Contains(k.described.GetPlugin().GetFeatures(), handshake.FeatureValidateConfig) {
		return skip("it does not look at configs: it lacks the feature validate_config")
	}
	if len(k.connection) == 0 {
		return skip("no connection is known here")
	}
	told := 0
	err := k.eachInput(ctx, func(p *process, a *action, base map[string]any) error {
		input, _ := json.Marshal(base) // of JSON values
		alone := &pluginv1.ValidateRequest{Action: a.GetName(), Input: &pluginv1.Value{Json: input}}
		sent := "Validate " + a.GetName() + " with " + brief(input) + " and no config"
		response, err := p.rpc.Validate(p.authorized(ctx), alone)
		if err != nil {
			return fault(sent, "the gRPC error %v", err)
		}
		if refused := errorsIn(response.GetDiagnostics()); len(refused) > 0 {
			return fault(sent, "%s, where the same input is taken with the config", saidOf(refused))
		}
		wrong := &pluginv1.ValidateRequest{Action: a.GetName(), Input: &pluginv1.Value{Json: input}}
		k.configure(wrong)
		if !k.spoilConfig(wrong) {
			return nil
		}
		sent = "Validate " + a.GetName() + " with " + brief(input) + " and the setting " + unknownSetting
		if response, err = p.rpc.Validate(p.authorized(ctx), wrong); err != nil {
			return fault(sent, "the gRPC error %v", err)
		}
		for _, d := range errorsIn(response.GetDiagnostics()) {
			if told++; d.GetPointer() != "" {
				return fault(sent, "an error at %s, which is a place of the input: %s", d.GetPointer(), d.GetSummary())
			}
		}
		return nil
	})
	if err == nil && told == 0 && k.spoilConfig(&pluginv1.ValidateRequest{Config: &pluginv1.Value{Json: k.connection}}) {
		return fault("Validate of each action with a config that has the setting "+unknownSetting, "no error of any")
	}
	return err
}

// spoilConfig puts a setting into a config that its schema does not have; false where it
// may have any.
func (k *kit) spoilConfig(request *pluginv1.ValidateRequest) bool {
	var described struct {
		Additional json.RawMessage `json:"additionalProperties"`
	}
	var config map[string]json.RawMessage
	closed := json.Unmarshal(k.described.GetConfigSchema(), &described) == nil && string(described.Additional) == "false"
	if !closed || json.Unmarshal(request.GetConfig().GetJson(), &config) != nil || config == nil {
		return false
	}
	config[unknownSetting] = json.RawMessage("1")
	spoiled, _ := json.Marshal(config) // of JSON values
	request.Config = &pluginv1.Value{Json: spoiled}
	return true
}

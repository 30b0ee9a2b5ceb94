package sdk

import (
	"context"
	"fmt"

	"connectrpc.com/connect"

	pluginv1 "github.com/flowrun/flowrun/sdk/proto/pluginv1"
)

// Reconcile answers "did it happen?". Without ReconcileWith, and whenever the
// question itself fails, the answer is unknown with a note.
func (s *service) Reconcile(ctx context.Context, request *pluginv1.ReconcileRequest) (*pluginv1.ReconcileResponse, error) {
	a, err := s.action(request.GetAction(), request.GetRecipe())
	if err != nil {
		return &pluginv1.ReconcileResponse{Note: "the plugin cannot tell: " + err.Error()}, nil
	}
	if a == nil || a.reconcile == nil {
		return &pluginv1.ReconcileResponse{Note: "the plugin cannot tell"}, nil
	}
	if err := a.ready(s.plugin); err != nil {
		return nil, connect.NewError(connect.CodeFailedPrecondition, fmt.Errorf("its author has to mend it: %w", err))
	}
	c := s.newCore(ctx, a, request.GetRun())
	c.checkpoint = request.GetCheckpoint()
	conn, refused := s.connection(request.GetConnection())
	if refused != nil {
		return &pluginv1.ReconcileResponse{Note: refused.Message}, nil
	}
	raw := request.GetInput().GetJson()
	c.useConnection(conn, raw)
	input, problems := a.decode(raw, nil)
	if refused := firstError(problems); refused != nil {
		return &pluginv1.ReconcileResponse{Note: c.masks.now().text(refused.Message)}, nil
	}
	return c.reconcile(input, s.limit), nil
}

func (c *core) reconcile(input any, limit int) (response *pluginv1.ReconcileResponse) {
	defer onPanic(func(text, _ string) {
		response = &pluginv1.ReconcileResponse{Note: c.masks.now().text("the plugin panicked: " + text)}
	})
	applied, output, note, err := c.action.reconcile.ask(c, c.conn.config, input)
	if failed(err) {
		return &pluginv1.ReconcileResponse{Note: c.masks.now().text(plain(cut(c.masks.now().text(asError(err).Error()), 1024)))}
	}
	response = &pluginv1.ReconcileResponse{Applied: pluginv1.Error_Applied(applied), Note: c.masks.now().text(plain(cut(note, 1024)))}
	if output == nil {
		return response
	}
	encoded, err := encodeOutput(output)
	if err != nil || len(encoded) > limit {
		response.Note += " (its output cannot be sent)"
		return response
	}
	response.Output = &pluginv1.Value{Json: encoded, Sensitive: sensitivePointers(c.action.output, encoded)}
	return response
}

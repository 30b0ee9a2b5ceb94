package sdk

import (
	"context"

	pluginv1 "github.com/flowrun/flowrun/sdk/proto/pluginv1"
)

// Run makes one call without a network connection: its events go to send.
func (s *Server) Run(ctx context.Context, request *pluginv1.ExecuteRequest, send func(*pluginv1.ExecuteEvent) error) error {
	return s.service.run(ctx, request, "", send)
}

package sdk

import pluginv1 "github.com/flowrun/flowrun/sdk/proto/pluginv1"

// Service is what Register adds to a gRPC server, for tests that call it without one.
func (s *Server) Service() pluginv1.PluginServer { return s.service }

package sdk

import pluginv1 "github.com/flowrun/flowrun/proto/flowrun/plugin/v1"

// Service is what Register adds to a gRPC server, for tests that call it without one.
func (s *Server) Service() pluginv1.PluginServer { return s.service }

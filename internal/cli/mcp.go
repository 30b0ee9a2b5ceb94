package cli

import "github.com/spf13/cobra"

func (a *app) mcpCommand() *cobra.Command {
	return group(&cobra.Command{
		Use: "mcp", Short: "Tools of MCP servers",
	}, a.mcpToolsCommand())
}

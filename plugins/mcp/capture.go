package mcp

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/flowrun/flowrun/plugins/internal/process"
	"github.com/flowrun/flowrun/sdk"
)

// maxTools bounds the tools of a server.
const maxTools = 10_000

// Capture asks a server for its tools, and returns them as the file that Settings.Tools
// names: JSON, in the order of their names. log takes what the server says meanwhile.
func Capture(ctx context.Context, config Config, o Options, log func(text string)) ([]byte, error) {
	s := sessions{known: map[string]*session{}, surroundings: process.Surroundings{Plugin: "mcp", Dir: o.Dir, Environ: o.Environ}}
	own, err := s.of(ctx, "", config, config.Token, &ear{log: func(_, text string) { log(text) }, progress: func(float64, string) {}})
	if err != nil {
		return nil, err
	}
	defer func() {
		own.retire()
		own.done()
		if own.server != nil {
			<-own.server.running.Ended
		}
	}()
	ctx, refused := withRefusal(ctx)
	document, err := own.list(ctx)
	if err != nil {
		return nil, own.notCalled(ctx, "tools/list", err, refused)
	}
	slices.SortFunc(document.Tools, func(a, b tool) int { return cmp.Compare(a.Name, b.Name) })
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(document); err != nil {
		return nil, fmt.Errorf("write the tools: %w", err)
	}
	return out.Bytes(), nil
}

// list asks for all tools of the server.
func (s *session) list(ctx context.Context) (toolsDocument, error) {
	document := toolsDocument{Tools: []tool{}}
	if of := s.client.InitializeResult(); of != nil && of.ServerInfo != nil {
		document.Server = serverName{Name: of.ServerInfo.Name, Version: of.ServerInfo.Version}
	}
	for one, err := range s.client.Tools(ctx, nil) {
		if err != nil {
			return document, err
		}
		if len(document.Tools) == maxTools {
			return document, sdk.Errorf(sdk.CodeUnexpectedResponse, "the server has more than %d tools", maxTools)
		}
		text, err := json.Marshal(one)
		if err != nil {
			return document, fmt.Errorf("read the tool %s: %w", one.Name, err)
		}
		var read tool
		if err := json.Unmarshal(text, &read); err != nil {
			return document, fmt.Errorf("read the tool %s: %w", one.Name, err)
		}
		document.Tools = append(document.Tools, read)
	}
	return document, nil
}

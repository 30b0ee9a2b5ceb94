package mcpserver

import (
	"encoding/json"
	"errors"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// question stops a call until a person has answered it.
type question struct {
	id     string
	params *mcp.ElicitParams
}

// Error implements error.
func (q *question) Error() string { return "a person is asked: " + q.params.Message }

// errDeclined says that the person who was asked does not want it.
var errDeclined = errors.New("the person declined: nothing was done")

// nothingToFill is the form of a question that takes yes or no.
const nothingToFill = `{"type":"object","properties":{}}`

// ask asks the person at the client, where the client can. What the person sees has an
// id: an answer to something else does not count. asked says whether somebody was.
func (c call) ask(id, message string) (asked bool, err error) {
	client := c.request.Session.InitializeParams()
	if client == nil || client.Capabilities == nil || client.Capabilities.Elicitation == nil ||
		client.Capabilities.Elicitation.Form == nil && client.Capabilities.Elicitation.URL != nil {
		return false, nil
	}
	if answer, ok := c.request.Params.InputResponses[id].(*mcp.ElicitResult); ok {
		if answer.Action != "accept" {
			return true, errDeclined
		}
		return true, nil
	}
	return true, &question{id: id, params: &mcp.ElicitParams{Mode: "form", Message: message, RequestedSchema: json.RawMessage(nothingToFill)}}
}

// actor is who acts, for the events of runs; over HTTP the API knows better.
func (c call) actor() string {
	actor := "assistant"
	if name := c.clientName(); name != "" {
		actor += " " + name
	}
	if c.User != "" {
		actor += " of " + c.User
	}
	return actor
}

// clientName is what the client calls itself, for the events of runs.
func (c call) clientName() string {
	client := c.request.Session.InitializeParams()
	if client == nil || client.ClientInfo == nil {
		return ""
	}
	return oneLine(client.ClientInfo.Name, 60)
}

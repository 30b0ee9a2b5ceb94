// Command ticket is a third party's plugin with the smallest login there is: a number
// that a desk calls up by writing it into the file called. It can't tell who is logged
// in, and gives nothing back.
package main

import (
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/flowrun/flowrun/sdk"
)

type config struct {
	Desk string `json:"desk" doc:"The folder that stands for the service"`
}

type ticket struct {
	FlowID   string `json:"flow_id"`
	UserCode string `json:"user_code"`
}

type turn struct {
	FlowID string `json:"flow_id"`
}

type seat struct {
	Seat string `json:"seat"`
}

func draw(*sdk.Call[config], sdk.NoInput) (ticket, error) {
	return ticket{FlowID: "ticket-17", UserCode: "17"}, nil
}

func sit(c *sdk.Call[config], in turn) (seat, error) {
	called, err := os.ReadFile(filepath.Join(c.Config.Desk, "called"))
	if err != nil || "ticket-"+strings.TrimSpace(string(called)) != in.FlowID {
		return seat{}, sdk.Pending{RetryAfter: 100 * time.Millisecond, Message: "the number is not called up yet"}
	}
	return seat{Seat: "window"}, nil
}

func main() {
	sdk.New("ticket", "1.0.0", "A login by a number",
		sdk.Login{Start: "draw", Wait: "sit"},
		sdk.Read("draw", "Draw a number", draw),
		sdk.Read("sit", "Wait until the number is called up", sit),
	).Serve()
}

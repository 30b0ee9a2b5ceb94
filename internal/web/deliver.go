package web

import (
	"context"

	"github.com/danielgtaylor/huma/v2"

	"github.com/flowrun/flowrun/engine/deliver"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/internal/web/guard"
	"github.com/flowrun/flowrun/internal/web/wire"
)

func registerDeliveries(t *typed, s *server) {
	register(t, guard.Operator, "POST /runs/{id}/deliver", huma.Operation{
		OperationID: "deliverRun", Tags: []string{"runs"}, Summary: "Try once more to deliver the outputs of a run",
		Description: "One attempt of each delivery that was not made yet, of all outputs or of one. It answers when these have ended, whether they went well or not: `state` says it.",
	}, s.deliver, wire.CodeConflict, wire.CodePlugin)
}

// DeliveryAnswer are the deliveries of a run as they are now.
type DeliveryAnswer struct {
	Deliveries []runs.Delivery `json:"deliveries"`
}

type deliverInput struct {
	RunRef
	Body *deliver.Request
}

func (s *server) deliver(ctx context.Context, in *deliverInput) (DeliveryAnswer, error) {
	request := orZero(in.Body)
	request.By = by(ctx, request.By)
	list, err := s.Runs.Deliver(ctx, in.ID, request)
	if list == nil {
		list = []runs.Delivery{}
	}
	return DeliveryAnswer{Deliveries: list}, ofRun(in.ID, err)
}

// Deliver makes one attempt of each delivery of a run that was not made yet.
func (c *Client) Deliver(ctx context.Context, id string, request deliver.Request) ([]runs.Delivery, error) {
	answer, err := post[DeliveryAnswer](ctx, c, "/runs/"+id+"/deliver", request)
	return answer.Deliveries, err
}

package runs

import (
	"fmt"
	"time"

	"github.com/flowrun/flowrun/engine/plan"
)

// DeliveryState says how far a delivery has come.
type DeliveryState string

// The states of a delivery.
const (
	DeliveryWaiting   DeliveryState = "waiting"   // for its first attempt, or the next one
	DeliverySending   DeliveryState = "sending"   // an attempt was begun, and its answer is not known
	DeliveryDelivered DeliveryState = "delivered" // the destination took it
	DeliveryFailed    DeliveryState = "failed"    // it is not tried again by itself
	DeliveryUnknown   DeliveryState = "unknown"   // of effect once: whether it was taken is not known, and it is not sent again by itself
)

// DeliveryStates returns all states.
func DeliveryStates() []DeliveryState {
	return []DeliveryState{DeliveryWaiting, DeliverySending, DeliveryDelivered, DeliveryFailed, DeliveryUnknown}
}

// Over reports whether nothing follows by itself.
func (s DeliveryState) Over() bool {
	return s == DeliveryDelivered || s == DeliveryFailed || s == DeliveryUnknown
}

// Delivery is an output of a run on its way to one destination.
type Delivery struct {
	Run         string        `json:"run"`
	ID          string        `json:"id"` // DeliveryID
	Output      string        `json:"output"`
	To          string        `json:"to"` // the destination as its author wrote it
	Action      string        `json:"action"`
	Connection  string        `json:"connection,omitempty"`
	State       DeliveryState `json:"state"`
	Attempts    int           `json:"attempts"` // that were begun
	Error       *Error        `json:"error,omitempty"`
	CreatedAt   time.Time     `json:"created_at"`
	NextAt      *time.Time    `json:"next_at,omitempty"`      // of the next attempt, while it waits
	DeliveredAt *time.Time    `json:"delivered_at,omitempty"` // when the destination's answer came
	By          string        `json:"by,omitempty"`           // who had it tried again last
	// Notice, where it is set, is a message about another delivery that failed, and no output.
	Notice *DeliveryNotice `json:"notice,omitempty"`
}

// DeliveryNotice is a message to a notify target.
type DeliveryNotice struct {
	Target string `json:"target"`
	Text   string `json:"text"`
}

// DeliveryID names a destination of an output, by its place: "digest#1" is the first.
func DeliveryID(output string, index int) string { return fmt.Sprintf("%s#%d", output, index+1) }

// DeliveryKey is the idempotency key of a delivery: the same for every attempt, by
// itself or by hand, and after every restart.
func DeliveryKey(run, id string) string { return IdempotencyKey(run, "!deliver/"+id) }

// EachDelivery visits the destinations of a workflow's outputs in written order.
func EachDelivery(w *plan.Workflow, visit func(output *plan.Output, to *plan.Step)) {
	for i := range w.Outputs {
		for j := range w.Outputs[i].To {
			visit(&w.Outputs[i], &w.Outputs[i].To[j])
		}
	}
}

// Delivers reports whether an output of the workflow goes anywhere.
func Delivers(w *plan.Workflow) bool {
	for i := range w.Outputs {
		if len(w.Outputs[i].To) > 0 {
			return true
		}
	}
	return false
}

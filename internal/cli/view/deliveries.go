package view

import (
	"io"
	"strconv"

	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/internal/cli/term"
)

// Deliveries prints how far the outputs of a run are on their way.
func (p Page) Deliveries(out io.Writer, deliveries []runs.Delivery) {
	list(out, []string{"OUTPUT", "TO", "DELIVERY", "ATTEMPTS", "DETAILS"}, deliveries, func(d runs.Delivery) []string {
		return []string{term.Clean(d.Output), term.Clean(d.To), paintDelivery(p.Style, d.State), strconv.Itoa(d.Attempts), p.deliveryDetails(d)}
	})
}

func (p Page) deliveryDetails(d runs.Delivery) string {
	text := ""
	if d.Error != nil {
		text = term.Clean(d.Error.Message)
	}
	switch {
	case d.State == runs.DeliveryDelivered && d.DeliveredAt != nil:
		return p.Times.Full(*d.DeliveredAt)
	case d.State == runs.DeliveryWaiting && d.Attempts > 0 && d.NextAt != nil:
		return "again at " + p.Times.Full(*d.NextAt) + ": " + text
	case d.State == runs.DeliveryFailed, d.State == runs.DeliveryUnknown:
		if d.Error != nil && d.Error.Hint.Text != "" {
			return text + "; " + term.Clean(d.Error.Hint.Text)
		}
	}
	return text
}

func paintDelivery(style term.Style, state runs.DeliveryState) string {
	switch state {
	case runs.DeliveryDelivered:
		return style.Green(string(state))
	case runs.DeliveryFailed, runs.DeliveryUnknown:
		return style.Red(string(state))
	}
	return style.Cyan(string(state))
}

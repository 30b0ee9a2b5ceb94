package tasks

import (
	"net/http"
	"net/url"
	"time"

	"github.com/flowrun/flowrun/sdk"
)

// hintTopUp is what the document says a top-up needs (T-54).
const hintTopUp = "a top-up needs a personal payment customer and an active personal paid subscription"

// TopUpInput is the input of usage_top_up. Confirm makes it impossible to spend
// money by writing a step carelessly (T-53).
type TopUpInput struct {
	Confirm bool        `json:"confirm" enum:"true" doc:"Must be true: this starts a payment."`
	Body    *sdk.Object `json:"body,omitempty" doc:"JSON object that is sent as it is; the service's document does not show whether there is one."`
}

// SummaryInput is the input of usage_summary. What is absent is not sent, since
// leaving a field out means something: every category, from the first event,
// until now (T-57, T-59).
type SummaryInput struct {
	Product  *string `json:"product,omitempty" min:"1" doc:"Product; the service's default is automations." example:"automations"`
	Category *string `json:"category,omitempty" min:"1" doc:"One category; without it all are totalled." example:"automation_run"`
	Since    *string `json:"since,omitempty" pattern:"^[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt][0-9]{2}:[0-9]{2}:[0-9]{2}(\\.[0-9]+)?([Zz]|[+-][0-9]{2}:[0-9]{2})?$" doc:"Start, a date and time; without an offset it is UTC. Without it the account's first event." example:"2026-01-01T00:00:00"`
	Until    *string `json:"until,omitempty" pattern:"^[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt][0-9]{2}:[0-9]{2}:[0-9]{2}(\\.[0-9]+)?([Zz]|[+-][0-9]{2}:[0-9]{2})?$" doc:"End, a date and time; without an offset it is UTC. Without it now." example:"2026-02-01T00:00:00"`
}

// SummaryOutput is the output of usage_summary.
type SummaryOutput struct {
	Summary sdk.Value `json:"summary" doc:"Run count and cost of settled usage, unchanged; field names and currency are not documented."`
}

// topUp is action tasks.usage_top_up (E12). It is money: one request, and never
// again by itself. The answer may hold the URL of a checkout page.
func topUp(c *sdk.Call[Config], in TopUpInput) (AnswerOutput, error) {
	if !in.Confirm {
		return AnswerOutput{}, sdk.Invalid("/confirm", "must be true: this starts a payment")
	}
	hints := map[int]string{http.StatusForbidden: hintTopUp, http.StatusBadRequest: hintTopUp}
	var body sdk.Object
	if in.Body != nil {
		body = *in.Body
	}
	return post(c, body, hints, "usage_billing", "top_up")
}

// usageSummary is action tasks.usage_summary (E13).
func usageSummary(c *sdk.Call[Config], in SummaryInput) (SummaryOutput, error) {
	query := url.Values{}
	sdk.SetText(query, "product", in.Product)
	sdk.SetText(query, "category", in.Category)
	sdk.SetText(query, "since", in.Since)
	sdk.SetText(query, "until", in.Until)
	summary, err := read(c, query, "usage_billing", "usage_summary")
	return SummaryOutput{Summary: summary}, err
}

// summaryProblems refuses what looks like a date and is none, such as
// 30 February (T-58).
func summaryProblems(in SummaryInput, unknown []string) []sdk.Problem {
	var problems []sdk.Problem
	for _, bound := range []struct {
		pointer string
		value   *string
	}{{"/since", in.Since}, {"/until", in.Until}} {
		if bound.value == nil || sdk.IsUnknown(unknown, bound.pointer) || isDateTime(*bound.value) {
			continue
		}
		problems = append(problems, sdk.Problemf(bound.pointer, "must be a date and time such as 2026-01-31T09:00:00, with or without an offset").
			WithDetail("without an offset the service reads it as UTC"))
	}
	return problems
}

func isDateTime(text string) bool {
	if _, ok := parseTime(text); ok {
		return true
	}
	_, err := time.Parse("2006-01-02T15:04:05", text)
	return err == nil
}

// StatsOutput is the output of stats.
type StatsOutput struct {
	Stats sdk.Value `json:"stats" doc:"Productivity statistics, unchanged; field names are not documented."`
}

// stats is action tasks.stats (E10b).
func stats(c *sdk.Call[Config], _ sdk.NoInput) (StatsOutput, error) {
	answer, err := read(c, nil, "tasks", "completed", "stats")
	return StatsOutput{Stats: answer}, err
}

// checkConnection asks for the statistics: the cheapest read that needs a
// credential and no input. What the holder is called is not documented.
func checkConnection(c *sdk.Call[Config]) (string, error) {
	_, err := read(c, nil, "tasks", "completed", "stats")
	return "", err
}

// Package triggers kills servers while webhooks, polls and ended runs start runs:
// each event must have exactly one (docs/reliability.md P10).
package triggers

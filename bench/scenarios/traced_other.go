//go:build !(linux && (amd64 || arm64))

package main

import (
	"context"

	"github.com/flowrun/flowrun/bench/figures"
)

// traced is S9, which needs a tracer.
func traced(_ context.Context, b *bench) error {
	return b.add(figures.Sample{Program: "flowrun", Scenario: "S9", Skipped: "a tracer is there on Linux alone"})
}

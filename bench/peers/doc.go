// Package peers holds what other libraries do with the same input, as tests: it
// is a module of its own, so that nothing of them is in flowrun's go.mod.
//
//	go -C bench/peers test ./...
//
// The folders below are modules too: an engine of others each, with the work of
// bench/scenarios (`make bench-peers`), and peer, which measures them.
package peers

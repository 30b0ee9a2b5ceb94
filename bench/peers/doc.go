// Package peers holds what other libraries do with the same input, as tests: it
// is a module of its own, so that nothing of them is in flowrun's go.mod.
//
//	go -C bench/peers test ./...
package peers

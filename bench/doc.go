// Package bench measures the engine from outside, through its embedding API and
// real plugin processes:
//
//	go test -run '^$' -bench . ./bench/...
//
// Every figure comes with the commits and fsyncs that it took.
package bench

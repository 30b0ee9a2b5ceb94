// Package bench measures the engine from outside, through its embedding API and
// real plugin processes:
//
//	go test -run '^$' -bench . ./bench/...
//
// Every figure comes with the commits and fsyncs that it took. What is held against the
// table of goals, in turns with the floor, is measured by bench/scenarios.
package bench

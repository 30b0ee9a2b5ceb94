// Command floor is the least that a durable workflow engine can be: a journal, a row a
// run, an index, one committer over bbolt that takes all that waits, and calls by gRPC to
// one plugin process. It has no YAML, no expressions, no schemas, no retries. What
// flowrun does beside it is printed as a ratio to it.
//
//	floor steps -n 1000 -policy merged -transport unary   # steps one after the other
//	floor fan -n 1000                                     # steps at once, in one run
//	floor runs -n 1000 -at-a-time 64                      # runs of three steps
//	floor cold -store FILE -workflow FILE                 # one command: open, parse, run, end
//
// Each prints one line of JSON (figures.Sample); cold prints nothing, since its time is
// that of the whole process. Every commit is synced to the disk before anybody hears of
// it, with the exception of the policy rpc, which stores nothing at all.
package main

// Command scenarios measures flowrun as its users meet it, beside the floor of the same
// work (bench/floor), in turns: the built program with its commands and its server, and
// the embedding API with a plugin in a process of its own.
//
//	scenarios -list                         # which there are
//	scenarios -only S1,S2r -repeat 3        # some of them
//	scenarios -quick                        # all, each once and small: whether they work
//	scenarios -o figures.jsonl              # all, with the samples as lines of JSON
//
// It builds what it measures, works in a temporary folder, and prints a table: median,
// minimum, ratio to the floor, goal, met or missed. `make bench` writes it into
// docs/performance.md.
package main

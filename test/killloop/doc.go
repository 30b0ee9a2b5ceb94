// Package killloop holds the fault suites over the whole engine: a real store,
// real plugin processes, and a counting service that outlives every kill. The
// engine runs in child processes, which are killed at random moments, at each
// commit, or after a long load, and what they acknowledged is compared with
// what the store and the service hold (docs/reliability.md, P1 to P7 and P15).
package killloop

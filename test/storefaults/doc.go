// Package storefaults holds the fault suites of the store file, from outside of
// the package that writes it: power loss, failing system calls, a full disk and
// damaged files (docs/reliability.md P1, P12, P13, P14). Each suite prints its seed
// and is replayed with FLOWRUN_SEED.
package storefaults

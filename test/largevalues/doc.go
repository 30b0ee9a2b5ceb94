// Package largevalues holds the tests of large values that need a store, its services, the
// host and a plugin's process together: what a hostile plugin can do, what a kill leaves,
// what stands on the disk.
package largevalues

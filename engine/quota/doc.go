// Package quota names what bounds the size of things that plugins and runs
// leave, and reads and writes sizes.
package quota

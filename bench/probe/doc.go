// Package probe reads what a measured process costs: processor time of itself and of
// others, memory of its own, bytes that it hands to the disk, the load of the machine.
// What a system does not tell is 0, and never an error: a figure that is missing is shown
// as missing.
package probe

// Package eval reads, checks and runs the expressions of workflows.
//
// The syntax is expr-lang's: its parser makes the tree. What follows is our
// own. Check infers types over the whole tree, also where expr's checker gives
// up, and Compile turns the tree into closures that are bounded by
// construction: every loop takes from a budget of steps, every new text or
// container from a budget of memory, and all orders are fixed. So an expression
// can neither hang nor exhaust memory nor give another result on a replay, and
// needs no goroutine of its own.
package eval

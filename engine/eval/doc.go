// Package eval reads, checks and runs the expressions of workflows.
//
// The syntax is expr-lang's: its parser makes the tree, after a scan has
// refused what would nest too deep for it. What follows is our own. Check infers
// types over the whole tree, also where expr's checker gives up. Compile turns
// the tree into closures that are bounded by construction: every turn of a loop,
// every comparison and every text that is looked through takes steps from a
// budget, every new text and container takes memory from one, before it is
// made. Nothing is timed and all orders are fixed, so that an expression ends
// in the same way, with a value or with a named error, on every machine and on
// every replay. That is why no evaluation needs a goroutine or a deadline of its
// own; TestHostileExpressionsEndEarlyWithANamedError holds the bounds of
// ADR 6, against each known attack.
//
// Where expr's own machine has another result, the language has decided: no
// method of a Go value can be called but those in methodTable, whole numbers do
// not wrap, division by zero is an error, maps are walked in key order, sorts
// are stable, groupBy has text keys, text is cut and found by characters, and
// what is written as text is RFC 3339, JSON numbers and 1h30m.
package eval

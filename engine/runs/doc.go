// Package runs holds runs as plain data: their rows and steps, the calls they
// make and the answers, what went wrong, the fires that started them, what they
// keep between each other, and the observer that hears of all of it. What a
// workflow says stands in package plan, what a run did stands here.
package runs

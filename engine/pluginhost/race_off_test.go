//go:build !race

package pluginhost

// raced says that the race detector is at work: it takes things from pools at random.
const raced = false

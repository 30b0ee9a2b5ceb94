package cli

import (
	"os"
	"runtime"
	"runtime/debug"
	"slices"
)

// firstCollection is how far the heap of a command may grow before the garbage
// collector runs for the first time, in percent of its 4 MiB. A short run ends
// before, which saves it a seventh of its time (docs/adr/0012-what-watching-costs.md).
const firstCollection = 400

// delayFirstCollection lets the first collection come later; all others come as
// they always do. A server and a plugin, which live long, are left as they are,
// and so is a GOGC that was set by hand.
func delayFirstCollection(args []string) {
	if os.Getenv("GOGC") != "" || slices.Contains(args, "serve") { //nolint:forbidigo // of the Go runtime, before anything else
		return
	}
	usual := debug.SetGCPercent(firstCollection)
	mark := &struct{ self any }{}
	mark.self = args // with a pointer, so that it is an object of its own
	runtime.AddCleanup(mark, func(percent int) { debug.SetGCPercent(percent) }, usual)
}

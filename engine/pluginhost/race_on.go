//go:build race

package pluginhost

// raceDetector tells that plugins of this build need far more address space.
const raceDetector = true

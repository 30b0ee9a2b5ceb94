package probe

import (
	"errors"
	"fmt"
	"os"
	"runtime/pprof"
)

// ProfiledRounds is how often the work of a profile is done: 100 looks a second are few
// for a work of 50 ms.
const ProfiledRounds = 10

// Profiled calls body ProfiledRounds times, and writes where the processor time of the
// process went to a file, as pprof reads it. One at a time in a process.
func Profiled(name string, body func() error) (err error) {
	file, err := os.Create(name)
	if err != nil {
		return fmt.Errorf("write the profile: %w", err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if err := pprof.StartCPUProfile(file); err != nil {
		return fmt.Errorf("write the profile %s: %w", name, err)
	}
	defer pprof.StopCPUProfile()
	for range ProfiledRounds {
		if err := body(); err != nil {
			return err
		}
	}
	return nil
}

package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
)

// writeProfiles writes where the processor time of steps and runs goes, of flowrun and of
// the floor, as bench/profiles reads it: a file for each repetition, which the samples
// name. Their times are not to be compared with others.
func (b *bench) writeProfiles(ctx context.Context) error {
	dir, err := filepath.Abs(b.profiles)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("write profiles: %w", err)
	}
	written := 0
	profiled := func(args ...string) []string {
		written++
		return append(args, "-cpuprofile", filepath.Join(dir, fmt.Sprintf("%04d.pprof", written)))
	}
	n := strconv.Itoa(b.size(1000, 50))
	for range b.repeat {
		if err := b.inTurnsOf(1,
			b.ofWorker(ctx, "S2", "", profiled("-what", "steps", "-action", "write", "-n", n, "-before", "1")...),
			b.ofFloor(ctx, "S2", profiled("steps", "-policy", "merged", "-n", n)...),
			b.ofWorker(ctx, "S2r", "", profiled("-what", "steps", "-action", "read", "-n", n, "-before", "1")...),
			b.ofFloor(ctx, "S2r", profiled("steps", "-policy", "reads", "-n", n)...),
			b.ofWorker(ctx, "S3", "after ten runs", profiled("-what", "fan", "-action", "write", "-n", n, "-before", strconv.Itoa(b.size(10, 1)))...),
			b.ofFloor(ctx, "S3", profiled("fan", "-n", n)...),
			b.ofWorker(ctx, "S4", "64 at a time", profiled("-what", "runs", "-n", n)...),
			b.ofFloor(ctx, "S4", profiled("runs", "-n", n)...),
		); err != nil {
			return err
		}
	}
	return nil
}

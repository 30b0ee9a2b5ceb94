package bench_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/flowrun/flowrun/engine"
	"github.com/flowrun/flowrun/sdk"
)

type largeIn struct {
	Bytes     int64 `json:"bytes"`
	Sensitive bool  `json:"sensitive,omitempty"`
}

type largeOut struct {
	Blob sdk.Blob `json:"blob"`
}

type readIn struct {
	Blob sdk.Blob `json:"blob"`
}

type readOut struct {
	Bytes int64 `json:"bytes"`
}

// line is what the large values of the benchmark are made of: text that compresses in no
// disk's cache.
func line(n int64) string { return fmt.Sprintf("%019d,a row of an export,%d\n", n, n*2654435761) }

func makeLarge(c *sdk.Call[struct{}], in largeIn) (out largeOut, err error) {
	w, err := c.NewBlob(sdk.BlobOptions{Name: "rows.csv", MediaType: "text/csv", Sensitive: in.Sensitive})
	if err != nil {
		return out, err
	}
	to := bufio.NewWriterSize(w, 64<<10)
	for n := int64(0); w.Size()+int64(to.Buffered()) < in.Bytes; n++ {
		if _, err := to.WriteString(line(n)); err != nil {
			return out, err
		}
	}
	if err := to.Flush(); err != nil {
		return out, err
	}
	out.Blob, err = w.Finish()
	return out, err
}

func readLarge(c *sdk.Call[struct{}], in readIn) (out readOut, err error) {
	r, err := c.OpenBlob(in.Blob)
	if err != nil {
		return out, err
	}
	defer r.Close()
	out.Bytes, err = io.Copy(io.Discard, r)
	return out, err
}

// peak is the most resident memory that a process has had, in MiB.
func peak(pid string) (float64, error) {
	text, err := os.ReadFile("/proc/" + pid + "/status")
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kib, err := strconv.ParseFloat(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 64)
			return kib / 1024, err
		}
	}
	return 0, errors.New("the system does not say how much memory was resident")
}

// largeBytes is the size of a large value: FLOWRUN_BENCH_LARGE in MiB, 1024 where it is not
// set.
func largeBytes(b *testing.B) int64 {
	b.Helper()
	text := os.Getenv("FLOWRUN_BENCH_LARGE")
	if text == "" {
		return 1 << 30
	}
	mib, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		b.Fatal(err)
	}
	return mib << 20
}

// BenchmarkLarge writes a large value through the host into the store, and reads it in
// another call: with how much memory host and plugin have at most.
func BenchmarkLarge(b *testing.B) {
	for _, c := range []struct {
		name      string
		sensitive bool
		read      bool
	}{{"write", false, false}, {"write and read", false, true}, {"write and read sealed", true, true}} {
		b.Run(c.name, func(b *testing.B) {
			size := largeBytes(b)
			e := open(b)
			b.SetBytes(size)
			source := fmt.Sprintf("flowrun: v1\nname: large\nsteps:\n  - {id: make, uses: bench.fill, timeout: 10m, with: {bytes: %d, sensitive: %v}}\n", size, c.sensitive)
			if c.read {
				source += "  - {id: read, uses: bench.drain, timeout: 10m, with: {blob: '${{ steps.make.outputs.blob }}'}}\n"
			}
			b.ResetTimer()
			for b.Loop() {
				run(b, e, source)
			}
			b.StopTimer()
			reportPeaks(b, e)
		})
	}
}

func reportPeaks(b *testing.B, e *engine.Engine) {
	b.Helper()
	for name, pid := range map[string]int{"MiB-host": os.Getpid(), "MiB-plugin": e.Project().Host().Status("bench").PID} {
		most, err := peak(strconv.Itoa(pid))
		if err != nil {
			b.Skip(err)
		}
		b.ReportMetric(most, name)
	}
}

package page

import (
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/upkeep"
	"github.com/flowrun/flowrun/engine/vitals"
)

// countedFor is how long a count of the whole store is good enough for a page.
const countedFor = time.Minute

// systemData is what the page of the system shows.
type systemData struct {
	Options
	Stats   *upkeep.DBStats
	Counted time.Time
	Work    vitals.StoreStats
	Active  int
	Busy    int
	Runs    []runCount
	Backup  *upkeep.BackupReport // made just now
	Used    int                  // percent of what the file may grow to
	Disk    int                  // percent of the disk that is used
}

// runCount is how many runs have a status.
type runCount struct {
	Status runs.Status
	Count  int
	URL    string
}

func (s *site) system(r *http.Request) (*screen, error) { return s.systemScreen(r, nil) }

func (s *site) systemScreen(r *http.Request, report *upkeep.BackupReport) (*screen, error) {
	stats, at, err := s.known.stats.look(r.Context(), report != nil || r.URL.Query().Get("count") != "")
	if err != nil {
		return nil, err
	}
	data := systemData{
		Options: s.Options, Stats: stats, Counted: at, Work: s.Engine.StoreStats(), Active: s.Engine.Active(), Busy: s.Engine.Busy(), Backup: report,
		Used: percentOf(float64(stats.UsedBytes), float64(stats.MaxBytes)), Disk: percentOf(float64(stats.DiskTotal)-float64(stats.DiskFree), float64(stats.DiskTotal)),
	}
	for _, status := range runStatuses {
		if n := stats.Runs[status]; n > 0 {
			data.Runs = append(data.Runs, runCount{status, n, runFilter{Status: string(status)}.path()})
		}
	}
	return &screen{Title: "System", Nav: "/system", Template: "system", Data: data, Live: live{Every: liveEvery}}, nil
}

func percentOf(part, whole float64) int {
	if whole <= 0 {
		return 0
	}
	return int(100 * part / whole)
}

// Bytes writes a size: "12 KiB", "3.4 GiB".
func (d systemData) Bytes(size any) string {
	var n float64
	switch size := size.(type) {
	case int64:
		n = float64(size)
	case uint64:
		n = float64(size)
	}
	units := []string{"bytes", "KiB", "MiB", "GiB", "TiB"}
	unit := 0
	for n >= 1024 && unit < len(units)-1 {
		n, unit = n/1024, unit+1
	}
	if unit == 0 || n >= 100 {
		return fmt.Sprintf("%.0f %s", n, units[unit])
	}
	return fmt.Sprintf("%.1f %s", n, units[unit])
}

// Filled are the kinds of rows that there are.
func (d systemData) Filled() []upkeep.DBBucket {
	return slices.DeleteFunc(slices.Clone(d.Stats.Buckets), func(b upkeep.DBBucket) bool { return b.Keys == 0 })
}

// backup writes a copy of the store into the state folder.
func (s *site) backup(r *http.Request) (*outcome, error) {
	report, err := s.Engine.Backup(r.Context(), upkeep.BackupRequest{})
	if err != nil {
		return nil, err
	}
	made, err := s.systemScreen(r, report)
	if err != nil {
		return nil, err
	}
	return done(made), nil
}

package view

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/services"
	"github.com/flowrun/flowrun/engine/upkeep"
	"github.com/flowrun/flowrun/internal/cli/term"
)

// Size returns a number of bytes as people say it: 812 B, 1.5 MiB.
func Size(bytes int64) string {
	const step = 1024
	if bytes < step {
		return fmt.Sprintf("%d B", bytes)
	}
	size, units := float64(bytes)/step, []string{"KiB", "MiB", "GiB", "TiB"}
	for len(units) > 1 && size >= step {
		size, units = size/step, units[1:]
	}
	return fmt.Sprintf("%.1f %s", size, units[0])
}

// DBStats prints what a store holds and what room it has.
func (p Page) DBStats(out io.Writer, stats *upkeep.DBStats) {
	line := func(name, format string, args ...any) {
		p.fact(out, 12, name, term.Clean(fmt.Sprintf(format, args...)))
	}
	line("store", "%s", stats.Path)
	line("schema", "%d", stats.Schema)
	line("file", "%s, %s in use, %s free inside; at most %s", Size(stats.FileBytes), Size(stats.UsedBytes), Size(stats.FreeBytes), Size(stats.MaxBytes))
	if stats.LargeValues > 0 || stats.Uploads > 0 {
		line("large values", "%d, %d on their way: %s beside the file", stats.LargeValues, stats.Uploads, Size(stats.LargeBytes))
	}
	line("disk", "%s free of %s", Size(int64(stats.DiskFree)), Size(int64(stats.DiskTotal)))
	line("runs", "%s", runCounts(stats.Runs))
	if stats.OldestAt != nil {
		line("oldest run", "%s, %s", stats.Oldest, p.Times.Short(*stats.OldestAt))
	}
	line("retention", "ended runs are kept for %s, at most %d of each workflow and %d of all", stats.Keep, stats.MaxRuns, stats.MaxTotal)
	for _, cut := range stats.Cut {
		line("", "%s is cut before that: runs up to %s are gone (%s: %d)", cut.Workflow, p.Times.Short(cut.UpTo), cut.By, cut.Limit)
	}
	if backup := stats.LastBackup; backup != nil {
		line("last backup", "%s, %s", p.Times.Short(backup.At), backup.Path)
	} else {
		line("last backup", "none")
	}
	fmt.Fprintln(out)
	table := Table{Head: []string{"BUCKET", "KEYS", "SIZE"}}
	for _, bucket := range stats.Buckets {
		table.Add(term.Clean(bucket.Name), fmt.Sprint(bucket.Keys), Size(bucket.Bytes))
	}
	table.Write(out)
}

// DBOwners prints who takes the room in a store, one a line.
func (p Page) DBOwners(out io.Writer, by string, owners []upkeep.DBOwner) {
	switch by {
	case upkeep.OwnersByRun:
		list(out, []string{"RUN", "WORKFLOW", "STATUS", "JOURNAL", "LOG", "LARGE VALUES", "ALL"}, owners, func(o upkeep.DBOwner) []string {
			return []string{term.Clean(o.Name), term.Clean(o.Workflow), string(o.Status), Size(o.Journal), Size(o.Log), Size(o.Large), Size(o.Bytes)}
		})
	case upkeep.OwnersByPlugin:
		list(out, []string{"PLUGIN", "RUNS", "ANSWERS AND LOG", "STATE", "ALL"}, owners, func(o upkeep.DBOwner) []string {
			return []string{cmp.Or(term.Clean(o.Name), "(none)"), fmt.Sprint(o.Runs), Size(o.Journal), Size(o.State), Size(o.Bytes)}
		})
	default:
		list(out, []string{strings.ToUpper(by), "RUNS", "JOURNAL", "LOG", "LARGE VALUES", "ALL"}, owners, func(o upkeep.DBOwner) []string {
			return []string{term.Clean(o.Name), fmt.Sprint(o.Runs), Size(o.Journal), Size(o.Log), Size(o.Large), Size(o.Bytes)}
		})
	}
}

func runCounts(rows map[runs.Status]int) string {
	total, parts := 0, []string{}
	for _, status := range slices.Sorted(maps.Keys(rows)) {
		total += rows[status]
		parts = append(parts, fmt.Sprintf("%d %s", rows[status], status))
	}
	if total == 0 {
		return "none"
	}
	return fmt.Sprintf("%d: %s", total, strings.Join(parts, ", "))
}

// CheckReport prints what a check of a store found.
func (p Page) CheckReport(out io.Writer, report *upkeep.CheckReport) {
	if len(report.Problems) == 0 {
		fmt.Fprintf(out, "%s is whole\n", term.Clean(report.Path))
	} else {
		problems := len(report.Problems) + report.More
		fmt.Fprintf(out, "%s is damaged: %s\n", term.Clean(report.Path), diag.Count(problems, "problem"))
		for _, problem := range report.Problems {
			fmt.Fprintf(out, "  %s\n", term.Clean(problem.String()))
		}
		if report.More > 0 {
			fmt.Fprintf(out, "  … and %d more\n", report.More)
		}
	}
	if report.Pages > 0 {
		facts := []string{
			fmt.Sprintf("schema %d", report.Schema), Size(report.Bytes), fmt.Sprintf("%s (%d free)", diag.Count(report.Pages, "page"), report.FreePages),
			diag.Count(report.Runs, "run"), diag.Count(report.Records, "record"), diag.Count(report.Blobs, "large row"),
		}
		if report.LargeValues > 0 {
			facts = append(facts, fmt.Sprintf("%s (%s beside it)", diag.Count(report.LargeValues, "large value"), Size(report.LargeBytes)))
		}
		if report.LargeLeft > 0 {
			facts = append(facts, diag.Count(report.LargeLeft, "file")+" of large values that nothing refers to, which upkeep removes")
		}
		fmt.Fprintf(out, "%s\n", p.Style.Dim(strings.Join(facts, ", ")))
	}
}

// KeyReport prints what the sealing key opens.
func (p Page) KeyReport(out io.Writer, report *services.KeyReport) {
	lost := len(report.Lost)
	if lost == 0 {
		fmt.Fprintf(out, "%s opens all of %s\n", term.Clean(report.File), diag.Count(report.Values, "sealed value"))
		return
	}
	fmt.Fprintf(out, "%s does not open %d of %s:\n", term.Clean(report.File), lost, diag.Count(report.Values, "sealed value"))
	list(out, []string{"KIND", "NAME"}, report.Lost, func(value services.SealedValue) []string { return []string{value.Kind, term.Clean(value.Name)} })
}

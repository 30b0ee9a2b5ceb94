package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/upkeep"
	"github.com/flowrun/flowrun/internal/cli/view"
	"github.com/flowrun/flowrun/internal/web"
	"github.com/flowrun/flowrun/internal/web/wire"
)

func (a *app) runsExportCommand() *cobra.Command {
	var out string
	c := a.onRun(&cobra.Command{
		Use: "export [RUN]", Short: "Print all that is stored of a run, for archives and bug reports",
		Long: "Export prints the run, its plan, inputs, outputs, steps, events and logs, and those of its sub-workflows'\n" +
			"runs: one JSON document, or one line each. The value of a secret is never in it: references stay\n" +
			"references, and what is known as a secret is masked.\n" + runHelp,
		Example: "  flowrun runs export @failed --out run.json\n  flowrun runs export last -o jsonl | gzip > run.jsonl.gz",
	}, anyRun(), func(ctx context.Context, run *runRef, _ []string) error { return a.exportRun(ctx, run, out) })
	c.Flags().StringVar(&out, "out", "", "write into this file, which is replaced as a whole")
	return withOutput(c, "json", "jsonl")
}

func (a *app) exportRun(ctx context.Context, run *runRef, out string) error {
	if out == "" {
		return a.writeExport(ctx, run, a.sys.Stdout)
	}
	path := realPath(a.abs(out))
	if err := checkOutPath(outFile{name: "FILE", file: out}, path); err != nil {
		return err
	}
	temp, err := os.CreateTemp(filepath.Dir(path), tempPattern)
	if err != nil {
		return fmt.Errorf("--out: %w", err)
	}
	if err := replaceBy(temp, path, a.writeExport(ctx, run, temp)); err != nil {
		return err
	}
	a.note("wrote run %s to %s", run.id, safePath(out))
	return nil
}

func (a *app) writeExport(ctx context.Context, run *runRef, to io.Writer) error {
	out := bufio.NewWriter(to)
	visit := func(line upkeep.ExportLine) error { return view.JSON(out, line) }
	if a.output == "json" {
		visit = (&exportDocument{out: out}).line
	}
	begun := false
	err := a.visitRun(ctx, run, func(c *web.Client) error {
		if begun { // half of it is written: a second owner would write it twice
			return errors.New("the process that owned the store went away meanwhile: export the run again")
		}
		return c.ExportRun(ctx, run.id, func(line upkeep.ExportLine) error {
			begun = true
			return visit(line)
		})
	})
	if err != nil {
		return err
	}
	return out.Flush()
}

// exportDocument writes the lines of an export as one JSON document:
//
//	{"flowrun_export":1, …, "runs":[{"run":{…},"plans":[…],"inputs":{…},…,"steps":[…],"events":[…],"logs":[…]}, …]}
//
// The first run is the one that was asked for, the others are those of its
// sub-workflows.
type exportDocument struct {
	out  *bufio.Writer
	run  string   // the one at hand
	list string   // the list that is open in it; "" = none
	seen []string // the lists that it has had
}

// exportLists are the members of a run's object that are lists, by the type of
// their lines.
var exportLists = []struct{ kind, member string }{
	{upkeep.ExportPlan, "plans"}, {upkeep.ExportStep, "steps"}, {upkeep.ExportDelivery, "deliveries"}, {upkeep.ExportEvent, "events"}, {upkeep.ExportLog, "logs"},
}

func (d *exportDocument) line(line upkeep.ExportLine) error {
	switch line.Type {
	case upkeep.ExportHead:
		var head upkeep.ExportHeader
		if err := json.Unmarshal(line.Data, &head); err != nil {
			return fmt.Errorf("read the export's head: %w", err)
		}
		at, err := json.Marshal(head.ExportedAt)
		if err != nil {
			return fmt.Errorf("write the export's head: %w", err)
		}
		_, err = fmt.Fprintf(d.out, "{\"flowrun_export\":%d,\"flowrun\":%q,\"exported_at\":%s,\"runs\":[", head.Format, head.Flowrun, at)
		return err
	case upkeep.ExportRunRow:
		d.closeRun(",")
		d.run, d.seen = line.Run, nil
		return d.write("{\"run\":", line.Data)
	case upkeep.ExportEnd:
		d.closeRun("")
		return d.write("]}\n", nil)
	}
	for _, list := range exportLists {
		if list.kind == line.Type {
			return d.item(list.member, line.Data)
		}
	}
	d.closeList()
	return d.write(fmt.Sprintf(",%q:", line.Type), line.Data)
}

// item writes an entry of a list, which it opens first where it is not the one
// at hand.
func (d *exportDocument) item(member string, data json.RawMessage) error {
	if d.list == member {
		return d.write(",", data)
	}
	d.closeList()
	d.list, d.seen = member, append(d.seen, member)
	return d.write(fmt.Sprintf(",%q:[", member), data)
}

func (d *exportDocument) closeList() {
	if d.list != "" {
		_ = d.out.WriteByte(']') // an error stays with the writer until Flush
	}
	d.list = ""
}

// closeRun ends the object of a run: a list without entries is empty, not
// absent.
func (d *exportDocument) closeRun(between string) {
	if d.run == "" {
		return
	}
	d.closeList()
	for _, list := range exportLists {
		if !slices.Contains(d.seen, list.member) {
			fmt.Fprintf(d.out, ",%q:[]", list.member)
		}
	}
	_, _ = d.out.WriteString("}" + between) // as above
	d.run = ""
}

func (d *exportDocument) write(text string, data json.RawMessage) error {
	if _, err := d.out.WriteString(text); err != nil {
		return err
	}
	_, err := d.out.Write(data)
	return err
}

func (a *app) runsRemoveCommand() *cobra.Command {
	var force bool
	c := &cobra.Command{
		Use: "rm [RUN..]", Short: "Remove runs that have ended",
		Long: "Rm removes runs with all that is stored of them: events, logs, sealed outputs, and the runs of their\n" +
			"sub-workflows. What they wrote into state and cursors stays. A run that goes on is refused: cancel it first.\n" + actHelp,
		Example: "  flowrun runs rm r5f8 9mq2\n  flowrun runs list --status failed -o json | jq -r '.items[].id' | xargs flowrun runs rm",
	}
	a.onRuns(c, endedRun(), runFlag(c), func(ctx context.Context, list []*runRef) error { return a.removeRuns(ctx, list, force) })
	c.Flags().BoolVar(&force, "force", false, "remove paused runs too, and pass over those that are not there")
	return withText(c)
}

// removedItem is what `runs rm -o json` says of one run.
type removedItem struct {
	Run     string   `json:"run"`
	Removed []string `json:"removed"` // the run and those of its sub-workflows; empty = none was there
}

// removeRuns removes each run that it may; the first refusal is the command's
// own.
func (a *app) removeRuns(ctx context.Context, list []*runRef, force bool) error {
	items, refusals := []removedItem{}, []error{}
	err := a.visitRun(ctx, list[0], func(c *web.Client) error {
		ids, err := a.findAll(ctx, c, list)
		if err != nil {
			return err
		}
		for _, id := range ids[len(items)+len(refusals):] { // a new owner goes on
			removal, err := c.RemoveRun(ctx, id, upkeep.RemoveRequest{Paused: force, By: a.user()})
			var problem *web.Problem
			switch {
			case err == nil:
				items = append(items, removedItem{Run: id, Removed: removal.Removed})
			case !errors.As(err, &problem):
				return err
			case force && problem.Code == wire.CodeNotFound:
				items = append(items, removedItem{Run: id, Removed: []string{}})
			default:
				refusals = append(refusals, &codedError{code: exitCode(problem), err: problem, run: id})
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := a.print(web.Page[removedItem]{Items: items}, func() { a.printRemoved(items) }); err != nil || len(refusals) == 0 {
		return err
	}
	for _, refusal := range refusals[1:] {
		a.printError(refusal)
	}
	return refusals[0]
}

func (a *app) printRemoved(items []removedItem) {
	for _, item := range items {
		switch others := len(item.Removed) - 1; {
		case others < 0:
			a.note("run %s was not there", item.Run)
		case others == 0:
			a.say("removed run %s", item.Run)
		default:
			a.say("removed run %s with %s of its sub-workflows", item.Run, diag.Count(others, "run"))
		}
	}
}

package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/flowrun/flowrun/engine"
	"github.com/flowrun/flowrun/engine/install"
	"github.com/flowrun/flowrun/engine/lockfile"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/project"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/upgrade"
	"github.com/flowrun/flowrun/engine/upkeep"
	"github.com/flowrun/flowrun/engine/workspace"
	"github.com/flowrun/flowrun/internal/web"
)

func (a *app) pluginUpgradeCommand() *cobra.Command {
	var flags addFlags
	var check bool
	var to string
	c := &cobra.Command{
		Use: "upgrade NAME", Short: "Say what another revision of a plugin would break here", Args: exactArgs("NAME"),
		Long: "Upgrade compares what a plugin says of itself, as flowrun.lock has it or as the server has it in force, with what\n" +
			"its source is now, or is at --to, and says for each change whom of this project it hits: workflows and tests with\n" +
			"file, line and column, connections, and open runs with their step. What hits nobody is listed apart. It exits with\n" +
			"3 when something would break, and takes nothing over: `flowrun plugins update` does that.",
		Example: "  flowrun plugins upgrade words --check\n  flowrun plugins upgrade words --check --to ./words-2.0.0.tar.gz -o sarif",
		RunE: func(c *cobra.Command, args []string) error {
			if !check {
				return usageError(errors.New("upgrade takes nothing over, it looks: give --check"), "`flowrun plugins update "+args[0]+"` takes it over")
			}
			return a.checkUpgrade(c.Context(), args[0], to, flags)
		},
	}
	c.Flags().BoolVar(&check, "check", false, "look, and take nothing over")
	c.Flags().StringVar(&to, "to", "", "what to compare with: a file, a folder or an archive, also by its https address (default: the plugin's source as it is now)")
	c.Flags().StringVar(&flags.digest, "digest", "", "the sha256:HEX that an archive from elsewhere must have")
	c.Flags().StringVar(&flags.checksums, "checksums", "", "the address of a signed list of checksums, for an https address")
	return withOutput(c, "text", "json", "sarif")
}

// checkUpgrade compares a plugin as it is with what it would be.
func (a *app) checkUpgrade(ctx context.Context, name, to string, flags addFlags) error {
	l, plugin, err := a.ownPlugin(name)
	if err != nil {
		return err
	}
	entry, locked := l.lock.Plugin(name)
	here := l.pathOf(plugin, entry)
	there, err := a.upgradeTo(ctx, l, plugin, to, flags)
	if err != nil {
		return err
	}
	open, err := a.openRuns(ctx, name)
	if err != nil {
		return err
	}
	next, err := a.projectWith(ctx, l, name, there)
	if err != nil {
		return err
	}
	defer next.Close()
	base, err := a.projectWith(ctx, l, name, here)
	if err != nil {
		return err
	}
	defer base.Close()
	now, err := a.asItIs(ctx, base, name, entry, locked)
	if err != nil {
		return err
	}
	material, err := a.materialOf(base)
	if err != nil {
		return err
	}
	for i := range open {
		open[i].Held = a.heldRevision(base, name, open[i])
		material.Runs = append(material.Runs, open[i].Run)
	}
	report, err := upgrade.Check(ctx, now, next, name, material)
	if err != nil {
		return refusedPlugin(err)
	}
	if err := a.printUpgrade(report); err != nil {
		return err
	}
	if report.Breaks {
		return exitWith(exitInvalid)
	}
	return nil
}

// upgradeTo is where the next revision lies.
func (a *app) upgradeTo(ctx context.Context, l *lockedProject, plugin project.Plugin, to string, flags addFlags) (string, error) {
	old, _ := l.lock.Plugin(plugin.Name)
	if to == "" && !install.IsURL(plugin.Source) {
		return l.pathOf(plugin, old), nil
	}
	from := cmp.Or(to, plugin.Source)
	if flags.checksums == "" && flags.digest == "" && install.IsURL(from) {
		flags.checksums = old.Checksums
	}
	b, err := a.bring(ctx, l, from, flags, old.Signer)
	return b.path, err
}

// projectWith is the project with a plugin that lies at a path, whatever is locked of it.
func (a *app) projectWith(ctx context.Context, l *lockedProject, name, path string) (*workspace.Workspace, error) {
	config := a.engineConfig(l.at)
	config.Instead = map[string]string{name: path}
	return engine.LoadProject(ctx, config)
}

// asItIs is the project with the revision of the plugin that counts now: the locked one,
// else the one that a server has in force, else the source as it is.
func (a *app) asItIs(ctx context.Context, base *workspace.Workspace, name string, entry lockfile.Plugin, locked bool) (*workspace.Workspace, error) {
	digest, who := "", lockfile.Name+" has"
	if locked {
		digest = entry.Digest(workspace.Platform())
		if digest == "" {
			return nil, &codedError{code: exitPlugin, err: fmt.Errorf("%s has no digest of %s for %s", lockfile.Name, name, workspace.Platform()), hint: "lock it on such a machine: `flowrun plugins lock`"}
		}
	} else if digest = a.servedDigest(ctx, name); digest != "" {
		who = "the server has in force"
	}
	if digest == "" {
		return base, nil
	}
	revision, err := base.Revision(ctx, name, digest)
	if workspace.RevisionGone(err) {
		return nil, &codedError{
			code: exitPlugin, err: fmt.Errorf("nothing here is the %s that %s: neither a copy in the state folder nor its source has the digest %.12s", name, who, digest),
			hint: "put its source back and run it once, then look again",
		}
	}
	if err != nil {
		return nil, err
	}
	return base.Trial(revision), nil
}

// servedDigest is the revision that a server has in force; "" = none runs.
func (a *app) servedDigest(ctx context.Context, name string) string {
	at, err := a.locate()
	if err != nil {
		return ""
	}
	client, info, err := web.Dial(ctx, at.stateDir)
	if err != nil {
		return ""
	}
	defer client.Close()
	if !info.Serve {
		return ""
	}
	plugins, err := client.Plugins(ctx)
	if err != nil {
		return ""
	}
	for _, plugin := range plugins {
		if plugin.Name == name {
			return plugin.Digest
		}
	}
	return ""
}

// materialOf reads the workflows and tests of a project.
func (a *app) materialOf(w *workspace.Workspace) (upgrade.Material, error) {
	material := upgrade.Material{Read: func(name string) ([]byte, error) { return a.readWorkflow(filepath.FromSlash(name)) }}
	names, err := w.Workflows()
	if err != nil {
		return material, fmt.Errorf("list the project's workflows: %w", err)
	}
	for _, name := range names {
		path := a.shownPath(filepath.Join(w.Root(), name))
		source, err := a.readWorkflow(path)
		if err != nil {
			return material, err
		}
		material.Workflows = append(material.Workflows, upgrade.File{Name: slashed(path), Source: source})
	}
	tests, err := a.projectTests(w)
	if err != nil {
		return material, err
	}
	for _, path := range tests {
		source, err := a.readTest(path)
		if err != nil {
			return material, err
		}
		material.Tests = append(material.Tests, upgrade.File{Name: slashed(path), Source: source})
	}
	return material, nil
}

// openRun is an open run that uses the plugin.
type openRun struct {
	upgrade.Run
	digest string
}

// errEnoughLines ends an export that has given what was asked for.
var errEnoughLines = errors.New("enough")

// openRuns reads the open runs that use a plugin, with the plans that they go by.
func (a *app) openRuns(ctx context.Context, plugin string) ([]openRun, error) {
	open, err := ask(ctx, a, func(c *web.Client) (open []openRun, err error) {
		for _, status := range runs.Statuses() {
			if status.Ended() {
				continue
			}
			filter := runs.Filter{Status: status, Limit: 200}
			for more := true; more; {
				page, err := c.Runs(ctx, filter)
				if err != nil {
					return nil, err
				}
				for _, row := range page.Items {
					run, uses, err := openRunOf(ctx, c, row, plugin)
					if err != nil {
						return nil, err
					}
					if uses {
						open = append(open, run)
					}
				}
				more = page.NextCursor != nil && *page.NextCursor != ""
				if more {
					filter.Cursor = *page.NextCursor
				}
			}
		}
		return open, nil
	})
	return open, allowNoStore(err)
}

func openRunOf(ctx context.Context, c *web.Client, row runs.Run, plugin string) (run openRun, uses bool, err error) {
	result, err := c.Result(ctx, row.ID)
	if err != nil {
		return run, false, err
	}
	for _, pin := range result.Plugins {
		if pin.Plugin == plugin {
			run.Version, run.digest, uses = pin.Version, pin.Digest, true
		}
	}
	if !uses {
		return run, false, nil
	}
	run.ID = row.ID
	run.Done = func(step string) bool { return result.Steps[step].Status.Ended() && result.Steps[step].Status != "" }
	err = c.ExportRun(ctx, row.ID, func(line upkeep.ExportLine) error {
		if line.Type != upkeep.ExportPlan || line.Run != row.ID {
			return nil
		}
		var stored struct{ Plan *plan.Workflow }
		if err := json.Unmarshal(line.Data, &stored); err != nil || stored.Plan == nil {
			return fmt.Errorf("read the plan of run %s: %w", row.ID, err)
		}
		run.Plan = stored.Plan
		return errEnoughLines
	})
	if err != nil && !errors.Is(err, errEnoughLines) {
		return run, false, err
	}
	return run, run.Plan != nil, nil
}

// heldRevision says why the revision of an open run is gone, "" = it is there.
func (a *app) heldRevision(w *workspace.Workspace, plugin string, run openRun) string {
	if _, err := w.OwnRevision(plugin, run.digest); err != nil {
		text, _, _ := strings.Cut(err.Error(), ";")
		return text + ", so that it goes on with --with-latest alone"
	}
	return ""
}

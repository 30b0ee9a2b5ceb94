package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/flowrun/flowrun/engine"
	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/trigger"
	"github.com/flowrun/flowrun/engine/workspace"
	"github.com/flowrun/flowrun/internal/cli/view"
	"github.com/flowrun/flowrun/internal/web"
)

func (a *app) workflowsCommand() *cobra.Command {
	return listGroup(&cobra.Command{
		Use: "workflows", Short: "The workflows of the project: what starts them, their last runs; disable, enable, edit",
	}, a.inSandbox("the workflows as the sandbox has them",
		withText(&cobra.Command{
			Use: "list", Short: "List the workflows with what starts them, their next fire and last run", Args: exactArgs(),
			Example: "  flowrun workflows\n  flowrun workflows list -o json",
			RunE:    func(c *cobra.Command, _ []string) error { return a.listWorkflows(c.Context()) },
		}),
		withText(&cobra.Command{
			Use: "show NAME", Short: "Show a workflow: triggers, addresses of webhooks, last run, problems", Args: exactArgs("NAME"),
			Example: "  flowrun workflows show weekly-digest\n  flowrun workflows show weekly-digest -o json",
			RunE:    func(c *cobra.Command, args []string) error { return a.showWorkflow(c.Context(), args[0]) },
		}),
		a.workflowsDisableCommand(),
		withText(&cobra.Command{
			Use: "enable NAME", Short: "Let the triggers of a disabled workflow start runs again", Args: exactArgs("NAME"),
			Long: "Enable makes up for nothing: what was due meanwhile stays out, `schedules backfill` starts it. A schedule that is\n" +
				"paused itself stays paused.",
			Example: "  flowrun workflows enable weekly-digest",
			RunE: func(c *cobra.Command, args []string) error {
				return a.turnWorkflow(c.Context(), func(client *web.Client) (*engine.WorkflowDetail, error) {
					return client.EnableWorkflow(c.Context(), args[0])
				})
			},
		}),
		withText(&cobra.Command{
			Use: "edit NAME", Short: "Open the file of a workflow in your editor, and check it afterwards", Args: exactArgs("NAME"),
			Long:    "Edit opens the file in $VISUAL, else in $EDITOR, else in vi.",
			Example: "  flowrun workflows edit weekly-digest",
			RunE:    func(c *cobra.Command, args []string) error { return a.editWorkflow(c.Context(), args[0]) },
		}),
	))
}

func (a *app) workflowsDisableCommand() *cobra.Command {
	var reason string
	c := &cobra.Command{
		Use: "disable NAME", Short: "Keep all triggers of a workflow from starting runs, until it is enabled", Args: exactArgs("NAME"),
		Long: "Disable holds schedules, polls, webhooks and `after`, also those that the workflow will get, and lasts over\n" +
			"restarts. Each fire that it leaves out has its row in `schedules fires`; a webhook is answered with 409. Runs that\n" +
			"go on are left alone, and `flowrun run` and `schedules trigger` start it all the same.",
		Example: "  flowrun workflows disable weekly-digest --reason 'the service moves'",
		RunE: func(c *cobra.Command, args []string) error {
			return a.turnWorkflow(c.Context(), func(client *web.Client) (*engine.WorkflowDetail, error) {
				return client.DisableWorkflow(c.Context(), args[0], trigger.PauseRequest{Reason: reason, By: a.user()})
			})
		},
	}
	c.Flags().StringVar(&reason, "reason", "", "why, for those who look at it")
	return withText(c)
}

// workflowItems puts the next fires to the workflows.
func workflowItems(infos []engine.WorkflowInfo, schedules []trigger.ScheduleItem) []view.WorkflowItem {
	next := map[string]*time.Time{}
	for _, item := range schedules {
		if first := next[item.Workflow]; item.Next != nil && (first == nil || item.Next.Before(*first)) {
			next[item.Workflow] = item.Next
		}
	}
	return texts(infos, func(info engine.WorkflowInfo) view.WorkflowItem {
		return view.WorkflowItem{WorkflowInfo: info, Next: next[info.Name]}
	})
}

func (a *app) listWorkflows(ctx context.Context) error {
	items, err := askOr(ctx, a, func(c *web.Client) ([]view.WorkflowItem, error) {
		infos, err := c.Workflows(ctx)
		if err != nil {
			return nil, err
		}
		schedules, err := c.Schedules(ctx)
		if err != nil {
			return nil, err
		}
		return workflowItems(infos, schedules.Items), nil
	}, func(project *workspace.Workspace) ([]view.WorkflowItem, error) {
		infos, err := engine.Offline{Workspace: project}.WorkflowList(ctx)
		if err != nil {
			return nil, err
		}
		schedules, err := offlineSchedules(ctx, project)
		if err != nil {
			return nil, err
		}
		return workflowItems(infos, schedules.Items), nil
	})
	return printList(a, items, err, "no workflows; `flowrun new workflow NAME` makes one", view.Page.Workflows)
}

func (a *app) showWorkflow(ctx context.Context, name string) error {
	var schedules *web.SchedulePage
	detail, err := askOr(ctx, a, func(c *web.Client) (detail *engine.WorkflowDetail, err error) {
		if detail, err = c.Workflow(ctx, name); err == nil {
			schedules, err = c.Schedules(ctx)
		}
		return detail, err
	}, func(project *workspace.Workspace) (detail *engine.WorkflowDetail, err error) {
		if detail, err = (engine.Offline{Workspace: project}).Workflow(ctx, name); err == nil {
			schedules, err = offlineSchedules(ctx, project)
		}
		return detail, err
	})
	if err != nil {
		return unknownAsNotFound(err)
	}
	item := workflowItems([]engine.WorkflowInfo{detail.WorkflowInfo}, schedules.Items)[0]
	base := a.hooksAt(ctx)
	for _, t := range detail.Triggers {
		shown := view.TriggerItem{Info: t}
		for _, schedule := range schedules.Items {
			if schedule.ID == t.ID {
				shown.Next, shown.Paused = schedule.Next, schedule.Paused
			}
		}
		if t.Kind == plan.TriggerWebhook {
			shown.URL = base + trigger.HookPath(detail.Name, t.Name)
		}
		item.Shown = append(item.Shown, shown)
	}
	return a.print(item, func() {
		a.page(a.sys.Stdout).Workflow(a.sys.Stdout, item)
		a.printProblems(detail.Problems)
		if item.Disabled != nil {
			a.next("let its triggers start runs again:", "workflows", "enable", name)
		}
	})
}

// hooksAt is the address below which webhooks lie: that of the server that runs, else
// where one would listen.
func (a *app) hooksAt(ctx context.Context) string {
	if a.isRemote() {
		return strings.TrimSuffix(a.stringSetting(serverKey), "/")
	}
	at, err := a.locate()
	if err != nil {
		return ""
	}
	if client, info, err := web.Dial(ctx, at.stateDir); err == nil {
		client.Close()
		if info.Serve {
			return strings.TrimSuffix(info.URL, "/")
		}
	}
	settings, err := a.allSettings()
	if err != nil {
		return ""
	}
	for _, setting := range settings {
		if setting.Key == listenKey && len(setting.Candidates) > 0 {
			return "http://" + setting.Candidates[0].Value
		}
	}
	return ""
}

// turnWorkflow disables or enables a workflow, and says how it is then.
func (a *app) turnWorkflow(ctx context.Context, turn func(*web.Client) (*engine.WorkflowDetail, error)) error {
	detail, err := act(ctx, a, turn)
	if err != nil {
		return err
	}
	return a.print(detail.WorkflowInfo, func() {
		triggers := "it has no triggers"
		if n := len(detail.Triggers); n > 0 {
			triggers = diag.Count(n, "trigger")
		}
		if detail.Disabled != nil {
			a.say("%s is disabled: no trigger starts a run of it (%s)", detail.Name, triggers)
		} else {
			a.say("%s is enabled (%s)", detail.Name, triggers)
		}
	})
}

// editWorkflow opens a workflow's file in the editor and checks it afterwards.
func (a *app) editWorkflow(ctx context.Context, name string) error {
	file, err := a.workflowNamed(ctx, name)
	if err != nil {
		return err
	}
	before, err := a.readWorkflow(file)
	if err != nil {
		return err
	}
	out := a.sys.Stderr
	if a.output == "text" {
		out = a.sys.Stdout
	}
	if err := a.openEditor(ctx, filepath.Clean(a.abs(file)), out); err != nil {
		return err
	}
	after, err := a.readWorkflow(file)
	if err != nil {
		return err
	}
	if string(after) == string(before) {
		a.note("%s is as it was", safePath(file))
	}
	return a.validate(ctx, []string{file}, false, false)
}

// openEditor opens a file in the person's editor, which draws on out, and waits for its end.
func (a *app) openEditor(ctx context.Context, file string, out io.Writer) error {
	editor := cmp.Or(a.env("VISUAL"), a.env("EDITOR"), "vi")
	// As git does it: the variable may hold arguments of the editor.
	command := exec.CommandContext(ctx, "sh", "-c", editor+` "$@"`, editor, file)
	command.Dir, command.Env = a.sys.Dir, a.sys.Environ
	command.Stdin, command.Stdout, command.Stderr = a.sys.Stdin, out, a.sys.Stderr
	if err := command.Run(); err != nil {
		return &codedError{code: exitInternal, err: fmt.Errorf("the editor %s: %w", safePath(editor), err), hint: "$VISUAL or $EDITOR names your editor"}
	}
	return nil
}

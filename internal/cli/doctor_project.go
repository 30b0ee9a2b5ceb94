package cli

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/flowrun/flowrun/engine"
	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/fault"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/internal/cli/view"
	"github.com/flowrun/flowrun/internal/web"
)

// How long the doctor waits for a plugin to start and for a service to answer.
const (
	pluginPatience  = 15 * time.Second
	servicePatience = 10 * time.Second
)

// certificateLeft is how long before its end a certificate is warned of.
const certificateLeft = 14 * 24 * time.Hour

// hintOf is what an error says of its remedy.
func hintOf(err error) string {
	var (
		coded   *codedError
		problem *web.Problem
		store   *fault.StoreError
		loose   *engine.UnconfinedError
	)
	switch {
	case errors.As(err, &coded) && coded.hint != "":
		return coded.hint
	case errors.As(err, &problem):
		return problem.Hint
	case errors.As(err, &store):
		return store.Hint
	case errors.As(err, &loose):
		return loose.Hint
	}
	return ""
}

func (d *doctor) checkProject(ctx context.Context) {
	const check = "project"
	if d.refused {
		d.skip(check, "", "nothing starts from a state folder that others could change")
		return
	}
	project, err := engine.LoadProject(ctx, d.app.engineConfig(d.at))
	var list diag.List
	switch {
	case errors.As(err, &list):
		d.fail(check, "", exitInvalid, fmt.Sprintf("%s: %s: %s", d.app.shown(d.at.projectFile), count(len(list), "problem"), list[0].Message),
			"`flowrun validate` shows them all")
		return
	case err != nil:
		d.failWith(check, "", err)
		return
	}
	d.project = project
	if d.at.projectFile == "" {
		d.warn(check, "", "there is no "+projectFileName+" here or above: "+d.at.root+" is taken as it is", "`flowrun init` makes a project")
		return
	}
	d.ok(check, "", "%s", d.app.shown(d.at.projectFile))
}

func (d *doctor) checkWorkflows(ctx context.Context) {
	const check = "workflows"
	if d.project == nil || d.at.projectFile == "" {
		return
	}
	files, err := d.project.Workflows()
	if err != nil {
		d.fail(check, "", exitInvalid, err.Error(), "look at `workflows` in "+projectFileName)
		return
	}
	var broken, unready []string
	why, ready := "", readiness{app: d.app, project: d.project}
	for _, file := range files {
		path := filepath.Join(d.project.Root(), file)
		source, err := os.ReadFile(path)
		if err != nil {
			broken = append(broken, file)
			continue
		}
		workflow, problems := d.project.Check(ctx, path, source)
		if problems.HasErrors() {
			broken = append(broken, file)
			continue
		}
		if lacking := ready.lacking(ctx, workflow); lacking.HasErrors() && !d.app.sandbox {
			unready = append(unready, file)
			why = cmp.Or(why, lacking[0].Message)
		}
	}
	switch {
	case len(files) == 0:
		d.warn(check, "", "the project has none", "`flowrun new workflow NAME` makes one")
	case len(broken) > 0:
		d.fail(check, "", exitInvalid, fmt.Sprintf("%d of %s can't run: %s", len(broken), count(len(files), "workflow"), listed(broken)), "`flowrun validate` shows why")
	case len(unready) > 0:
		d.fail(check, "", exitInvalid, fmt.Sprintf("%d of %s can't run here: %s: %s", len(unready), count(len(files), "workflow"), listed(unready), why), "`flowrun validate` shows what each lacks; --sandbox tries them with simulators")
	default:
		d.ok(check, "", "%s, all can run", count(len(files), "workflow"))
	}
}

// listed names a few of many.
func listed(names []string) string {
	const shown = 3
	text := ""
	for i, name := range names[:min(shown, len(names))] {
		if i > 0 {
			text += ", "
		}
		text += name
	}
	if left := len(names) - shown; left > 0 {
		text += fmt.Sprintf(" and %d more", left)
	}
	return text
}

// checkServer looks at the certificate that a server would use.
func (d *doctor) checkServer(context.Context) {
	const check = "certificate"
	if d.project == nil {
		return
	}
	settings := d.project.ServerSettings()
	if settings.TLSCert == "" {
		return
	}
	pair, err := tls.LoadX509KeyPair(settings.TLSCert, settings.TLSKey)
	if err != nil {
		d.fail(check, "", exitInvalid, err.Error(), "server.tls_cert and server.tls_key of "+projectFileName+" name a certificate and its key")
		return
	}
	leaf, err := x509.ParseCertificate(pair.Certificate[0])
	if err != nil {
		d.fail(check, "", exitInvalid, err.Error(), "")
		return
	}
	now, until := d.app.sys.Now(), d.app.times.Full(leaf.NotAfter)
	switch {
	case now.After(leaf.NotAfter):
		d.fail(check, "", exitInvalid, "it has expired: "+until, "renew it; a running server reads it again on SIGHUP")
	case leaf.NotAfter.Sub(now) < certificateLeft:
		d.warn(check, "", "it expires soon: "+until, "renew it; a running server reads it again on SIGHUP")
	default:
		d.ok(check, "", "%s, good until %s", d.app.shown(settings.TLSCert), until)
	}
	d.checkMode("certificate key", settings.TLSKey, 0o077, 0o600)
}

// checkPlugins starts each plugin, some at a time.
func (d *doctor) checkPlugins(ctx context.Context) {
	if d.project == nil {
		return
	}
	names := d.project.PluginNames()
	failures, slots := make([]error, len(names)), make(chan struct{}, testsAtOnce)
	var all sync.WaitGroup
	for i, name := range names {
		all.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			bounded, cancel := context.WithTimeout(ctx, pluginPatience)
			defer cancel()
			failures[i] = d.project.StartPlugin(bounded, name)
		})
	}
	all.Wait()
	if ctx.Err() != nil {
		return
	}
	var well []string
	for i, name := range names {
		if failures[i] == nil {
			well = append(well, name)
			continue
		}
		d.fail("plugin", name, exitPlugin, failures[i].Error(), "look at `plugins` in "+projectFileName+"; started by hand with --debug the plugin says more")
	}
	if len(well) > 0 {
		d.ok("plugins", "", "%s started: %s", count(len(well), "plugin"), joined(well))
	}
}

func joined(names []string) string {
	text := ""
	for i, name := range names {
		if i > 0 {
			text += ", "
		}
		text += name
	}
	return text
}

// checkConnections lets each connection make one harmless request.
func (d *doctor) checkConnections(ctx context.Context) {
	const check = "connection"
	if d.project == nil || ctx.Err() != nil {
		return
	}
	declared := d.project.ListConnections(ctx)
	switch {
	case d.app.sandbox:
		d.skip("connections", "", "those of a sandbox work while it does")
		return
	case len(declared) == 0:
		d.skip("connections", "", "none is declared under `connections` of "+projectFileName)
		return
	}
	names := make([]string, len(declared))
	for i, connection := range declared {
		names[i] = connection.Name
	}
	bounded, cancel := context.WithTimeout(ctx, servicePatience)
	defer cancel()
	tests, err := d.tryConnections(bounded, names)
	if ctx.Err() != nil {
		return
	}
	if err != nil {
		d.failWith("connections", "", err)
		return
	}
	for _, test := range tests {
		failure := test.Error
		if failure == nil {
			account := ""
			if test.Account != "" {
				account = ", as " + test.Account
			}
			if test.NotTried {
				d.ok(check, test.Name, "%s: %s%s", test.Plugin, test.Opened(), account)
			} else {
				d.ok(check, test.Name, "%s answers in %d ms%s", test.Plugin, test.DurationMS, account)
			}
			continue
		}
		d.fail(check, test.Name, exitOfCall(failure), string(failure.Kind)+": "+failure.Message, failure.Hint)
	}
}

// tryConnections asks the owner of the store; where there is no store yet, an
// engine on a folder that is thrown away. One that does not answer in time has
// failed so.
func (d *doctor) tryConnections(ctx context.Context, names []string) ([]engine.ConnectionTest, error) {
	ask := func(ctx context.Context, name string) (engine.ConnectionTest, error) {
		return d.session.client.TestConnection(ctx, name)
	}
	if d.session == nil {
		opened, remove, err := d.openAside(ctx)
		if err != nil {
			return nil, err
		}
		defer remove()
		ask = opened.TestConnection
	}
	tests, slots := make([]engine.ConnectionTest, len(names)), make(chan struct{}, testsAtOnce)
	var all sync.WaitGroup
	for i, name := range names {
		all.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			test, err := ask(ctx, name)
			if err != nil {
				failure := &plan.Error{Kind: plan.KindInternal, Message: err.Error()}
				if ctx.Err() != nil {
					failure.Kind, failure.Message = plan.KindTimeout, fmt.Sprintf("no answer within %s", servicePatience)
				}
				test = engine.ConnectionTest{Name: name, Error: failure}
			}
			tests[i] = test
		})
	}
	all.Wait()
	return tests, nil
}

// openAside opens an engine of the project on a folder of its own.
func (d *doctor) openAside(ctx context.Context) (*engine.Engine, func(), error) {
	folder, err := os.MkdirTemp("", "flowrun-doctor-")
	if err != nil {
		return nil, nil, fmt.Errorf("make a folder to try connections: %w", err)
	}
	config := d.app.engineConfig(d.at)
	config.StateDir = folder
	project, err := engine.LoadProject(ctx, config)
	if err == nil {
		var opened *engine.Engine
		if opened, err = engine.Open(ctx, project); err == nil {
			return opened, func() {
				_ = opened.Close(context.Background())
				_ = os.RemoveAll(folder) // made above, nothing of the user's is in it
			}, nil
		}
		project.Close()
	}
	return nil, nil, errors.Join(err, os.RemoveAll(folder))
}

// checkTriggers looks whether somebody acts on the schedules.
func (d *doctor) checkTriggers(ctx context.Context) {
	const check = "schedules"
	if d.session == nil {
		return
	}
	page, err := d.session.client.Schedules(ctx)
	if err != nil {
		d.skip(check, "", err.Error())
		return
	}
	paused := slices.DeleteFunc(slices.Clone(page.Items), func(s engine.ScheduleItem) bool { return !s.Paused })
	serving := d.owner != nil && d.owner.Serve
	switch {
	case len(page.Items) == 0:
		return
	case !serving:
		d.warn(check, "", count(len(page.Items), "schedule")+", and no process acts on them", "start `flowrun serve`")
	default:
		d.ok(check, "", "%s, the server acts on them", count(len(page.Items), "schedule"))
	}
	for _, schedule := range paused {
		by := schedule.PausedBy
		if by == "" {
			by = "flowrun"
		}
		detail := "it was paused by " + by
		if schedule.PausedReason != "" {
			detail += ": " + schedule.PausedReason
		}
		d.add(view.Finding{Check: "schedule", Subject: schedule.ID, Status: view.FindingWarn, Detail: detail, Hint: "`flowrun schedules resume " + schedule.ID + "`"})
	}
}

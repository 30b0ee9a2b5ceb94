package doctor

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/flowrun/flowrun/engine"
	"github.com/flowrun/flowrun/engine/diag"
)

// certificateLeft is how long before its end a certificate is warned of.
const certificateLeft = 14 * 24 * time.Hour

// checkProject loads the project file.
func (e *examination) checkProject(ctx context.Context, check string) {
	if e.refused {
		e.skip(check, "", "nothing starts from a state folder that others could change")
		return
	}
	project, err := engine.LoadProject(ctx, e.Config)
	var list diag.List
	switch {
	case errors.As(err, &list):
		e.fail(check, "", Invalid, fmt.Sprintf("%s: %s: %s", e.Words.Path(e.Config.ProjectFile), diag.Count(len(list), "problem"), list[0].Message),
			"%s shows them all", diag.Command{"validate"})
		return
	case err != nil:
		e.failWith(check, "", err)
		return
	}
	e.project = project
	if e.Config.ProjectFile == "" {
		e.warn(check, "", "there is no "+projectFileName+" here or above: "+e.Config.Dir+" is taken as it is", "%s makes a project", diag.Command{"init"})
		return
	}
	e.ok(check, "", "%s", e.Words.Path(e.Config.ProjectFile))
}

// checkWorkflows checks every workflow, and whether it could run here.
func (e *examination) checkWorkflows(ctx context.Context, check string) {
	if e.Config.ProjectFile == "" {
		return
	}
	files, err := e.project.Workflows()
	if err != nil {
		e.fail(check, "", Invalid, err.Error(), "look at `workflows` in "+projectFileName)
		return
	}
	var broken, unready []string
	cant := false // a lack that is no matter of this machine alone
	why := ""
	for _, file := range files {
		path := filepath.Join(e.project.Root(), file)
		source, err := os.ReadFile(path)
		if err != nil {
			broken = append(broken, file)
			continue
		}
		workflow, problems := e.project.Check(ctx, path, source)
		if problems.HasErrors() {
			broken = append(broken, file)
			continue
		}
		if lacking := e.Lacking(ctx, e.project, workflow); len(lacking) > 0 && !e.Sandbox {
			unready = append(unready, file)
			why = cmp.Or(why, lacking[0].Message)
			cant = cant || lacking.HasErrors()
		}
	}
	switch {
	case len(files) == 0:
		e.warn(check, "", "the project has none", "%s makes one", diag.Command{"new", "workflow", "NAME"})
	case len(broken) > 0:
		e.fail(check, "", Invalid, fmt.Sprintf("%d of %s can't run: %s", len(broken), diag.Count(len(files), "workflow"), listed(broken)), "%s shows why", diag.Command{"validate"})
	case len(unready) > 0 && cant:
		e.fail(check, "", Invalid, fmt.Sprintf("%d of %s can't run here: %s: %s", len(unready), diag.Count(len(files), "workflow"), listed(unready), why), "%s shows what each lacks; --sandbox tries them with simulators", diag.Command{"validate"})
	case len(unready) > 0: // what only this machine lacks, as validate says it
		e.warn(check, "", fmt.Sprintf("%d of %s can't run on this machine yet: %s: %s", len(unready), diag.Count(len(files), "workflow"), listed(unready), why), "%s shows what each lacks; --sandbox tries them with simulators", diag.Command{"validate"})
	default:
		e.ok(check, "", "%s, all can run", diag.Count(len(files), "workflow"))
	}
}

// listed names a few of many.
func listed(names []string) string {
	const shown = 3
	text := strings.Join(names[:min(shown, len(names))], ", ")
	if left := len(names) - shown; left > 0 {
		text += fmt.Sprintf(" and %d more", left)
	}
	return text
}

// checkServer looks at the certificate that a server would use.
func (e *examination) checkServer(_ context.Context, check string) {
	settings := e.project.ServerSettings()
	if settings.TLSCert == "" {
		return
	}
	pair, err := tls.LoadX509KeyPair(settings.TLSCert, settings.TLSKey)
	if err != nil {
		e.fail(check, "", Invalid, err.Error(), "server.tls_cert and server.tls_key of "+projectFileName+" name a certificate and its key")
		return
	}
	leaf, err := x509.ParseCertificate(pair.Certificate[0])
	if err != nil {
		e.fail(check, "", Invalid, err.Error(), "")
		return
	}
	now, until := e.Config.Now(), e.Words.Time(leaf.NotAfter)
	switch {
	case now.After(leaf.NotAfter):
		e.fail(check, "", Invalid, "it has expired: "+until, "renew it; a running server reads it again on SIGHUP")
	case leaf.NotAfter.Sub(now) < certificateLeft:
		e.warn(check, "", "it expires soon: "+until, "renew it; a running server reads it again on SIGHUP")
	default:
		e.ok(check, "", "%s, good until %s", e.Words.Path(settings.TLSCert), until)
	}
	e.checkMode("certificate key", settings.TLSKey, 0o077, 0o600)
}

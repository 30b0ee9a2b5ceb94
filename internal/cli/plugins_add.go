package cli

import (
	"bufio"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/install"
	"github.com/flowrun/flowrun/engine/lockfile"
	"github.com/flowrun/flowrun/engine/plugintree"
	"github.com/flowrun/flowrun/engine/project"
	"github.com/flowrun/flowrun/engine/workspace"
	"github.com/flowrun/flowrun/internal/cli/term"
)

// What of an archive is fetched at most, and for how long.
const (
	maxArchive  = 512 << 20
	archiveTime = 10 * time.Minute
)

// addFlags are those of add and update.
type addFlags struct {
	name, digest, checksums, acceptKey string
	grant                              grantFlags
}

// grantFlags answer for a person what a plugin is granted.
type grantFlags struct {
	yes, none bool
	noneFlag  string // the flag of none; "" = the command has none
}

func (a *app) pluginAddCommands() []*cobra.Command {
	var add, update, grants addFlags
	trust := func(c *cobra.Command, f *addFlags) *cobra.Command {
		c.Flags().StringVar(&f.digest, "digest", "", "the sha256:HEX that an archive or a file must have")
		c.Flags().StringVar(&f.checksums, "checksums", "", "the address of a list of checksums; its signature is at .sig, the Ed25519 key at .pub")
		return c
	}
	adding := trust(&cobra.Command{
		Use: "add SOURCE", Short: "Take in a plugin: a file, a folder or an archive, also by its https address", Args: exactArgs("SOURCE"),
		Long: "Add shows what a plugin is and what it asks for, asks whether to grant it, and writes it into flowrun.yaml\n" +
			"and flowrun.lock. What it is not granted it runs without. Where nobody can be asked, --yes or --no-grants\n" +
			"answers. An archive from elsewhere needs a digest, or checksums that are signed: the key is kept in\n" +
			"flowrun.lock when it is first seen, and no other is believed since.",
		Example: "  flowrun plugins add ./words\n  flowrun plugins add ./words --no-grants\n  flowrun plugins add https://example.com/words-1.0.0.tar.gz --checksums https://example.com/SHA256SUMS",
		RunE:    func(c *cobra.Command, args []string) error { return a.addPlugin(c.Context(), args[0], add) },
	}, &add)
	withText(adding)
	adding.Flags().StringVar(&add.name, "name", "", "the plugin's name (default: that of its manifest, or of the file)")
	adding.Flags().BoolVar(&add.grant.yes, "yes", false, "grant what it asks for")
	adding.Flags().BoolVar(&add.grant.none, "no-grants", false, "take it in, and grant nothing")
	add.grant.noneFlag = "--no-grants"
	updating := trust(&cobra.Command{
		Use: "update NAME [SOURCE]", Short: "Take over what a plugin is now, or is elsewhere", Args: rangeArgs(1, "NAME", "SOURCE"),
		Example: "  flowrun plugins update words\n  flowrun plugins update words ./words-2.0.0.tar.gz",
		RunE: func(c *cobra.Command, args []string) error {
			return a.updatePlugin(c.Context(), args[0], argument(args, 1), update)
		},
	}, &update)
	updating.Flags().StringVar(&update.acceptKey, "accept-key", "", "the new key, ed25519:BASE64, that its publisher told you of")
	withText(updating)
	granting := withText(&cobra.Command{
		Use: "grants [NAME]", Short: "What plugins ask for and are granted; with NAME, grant it", Args: rangeArgs(0, "NAME"),
		Example: "  flowrun plugins grants words",
		RunE: func(c *cobra.Command, args []string) error {
			return a.grantPlugin(c.Context(), argument(args, 0), grants.grant)
		},
	})
	granting.Flags().BoolVar(&grants.grant.yes, "yes", false, "with NAME: grant what it asks for")
	return []*cobra.Command{
		adding, updating, granting,
		withText(&cobra.Command{
			Use: "remove NAME", Short: "Take a plugin out of flowrun.yaml and flowrun.lock", Args: exactArgs("NAME"),
			Example: "  flowrun plugins remove words",
			RunE:    func(_ *cobra.Command, args []string) error { return a.removePlugin(args[0]) },
		}),
	}
}

func (a *app) fetcher(l *lockedProject) install.Fetcher {
	proxy := func(request *http.Request) (*url.URL, error) {
		for _, name := range []string{"HTTPS_PROXY", "https_proxy"} {
			if text := a.env(name); text != "" && request.URL.Scheme == "https" {
				return url.Parse(text)
			}
		}
		return nil, nil
	}
	return install.Fetcher{Client: &http.Client{Timeout: archiveTime, Transport: &http.Transport{Proxy: proxy}}, Dir: l.archives(), MaxBytes: maxArchive}
}

// brought is a source that lies on this machine.
type brought struct {
	path, source              string // where it lies; as flowrun.yaml has it
	archive, signer, checksum string
}

// bring fetches a source where it is elsewhere. pinned is the key that is believed already.
func (a *app) bring(ctx context.Context, l *lockedProject, source string, flags addFlags, pinned string) (brought, error) {
	if !install.IsURL(source) {
		if flags.checksums != "" {
			return brought{}, usageError(errors.New("--checksums is for an https address"), "give --digest for a file on this machine")
		}
		path := a.abs(source)
		if _, err := os.Stat(path); err != nil {
			return brought{}, notFoundError(fmt.Errorf("there is no %s", safePath(source)), "name a file, a folder with "+plugintree.ManifestName+", or an archive of one")
		}
		written := path
		if rel, err := filepath.Rel(l.at.root, path); err == nil && !strings.HasPrefix(rel, "..") {
			written = "./" + filepath.ToSlash(rel)
		}
		return brought{path: path, source: written}, nil
	}
	if err := install.CheckURL(source); err != nil {
		return brought{}, usageError(err, "")
	}
	b := brought{source: source, archive: flags.digest}
	if flags.checksums != "" {
		signed, err := a.fetcher(l).Checksums(ctx, flags.checksums, source)
		if err != nil {
			return brought{}, &codedError{code: exitPlugin, err: err, hint: "nothing was taken over; ask its publisher"}
		}
		if err := keyFits(signed.Signer, pinned, flags.acceptKey); err != nil {
			return brought{}, err
		}
		if flags.digest != "" && flags.digest != signed.Digest {
			return brought{}, &codedError{code: exitPlugin, err: fmt.Errorf("the checksums say %s, and --digest %s", signed.Digest, flags.digest), hint: "nothing was taken over"}
		}
		b.archive, b.signer, b.checksum = signed.Digest, signed.Signer, flags.checksums
	}
	if pinned != "" && b.signer == "" {
		return brought{}, usageError(errors.New("its checksums were signed, and none are given now"), "give --checksums, so that its key is looked at")
	}
	if b.archive == "" {
		return brought{}, usageError(errors.New("nothing says what should come from there"), "give --digest sha256:.., or --checksums with the address of a signed list")
	}
	var err error
	if b.path, err = a.fetcher(l).Fetch(ctx, source, b.archive); err != nil {
		return brought{}, &codedError{code: exitPlugin, err: err, hint: "nothing was taken over"}
	}
	return b, nil
}

// keyFits holds the key of a signature against the one that was seen first.
func keyFits(signer, pinned, accepted string) error {
	if pinned == "" || signer == pinned || signer == accepted {
		return nil
	}
	return &codedError{
		code: exitPlugin, err: fmt.Errorf("its checksums are signed with another key than before: %s, not %s", signer, pinned),
		hint: "nothing was taken over. Ask its publisher by another way whether the key was changed; only then type the same with --accept-key " + signer,
	}
}

// nameIn is the name of a plugin that lies at a path.
func nameIn(path string) (string, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return "", fmt.Errorf("look at %s: %w", path, err)
	case info.IsDir():
		return manifestName(path)
	case !plugintree.IsArchive(path):
		name, _, _ := strings.Cut(filepath.Base(path), ".")
		return strings.TrimPrefix(name, "flowrun-plugin-"), nil
	}
	folder, err := os.MkdirTemp("", "flowrun-plugin-")
	if err != nil {
		return "", fmt.Errorf("make a folder: %w", err)
	}
	defer func() { _ = os.RemoveAll(folder) }()
	archive, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("open %s: %w", path, err)
	}
	defer archive.Close()
	top, err := plugintree.Unpack(archive, folder, plugintree.DefaultLimits())
	if err != nil {
		return "", err
	}
	return manifestName(top)
}

func manifestName(folder string) (string, error) {
	manifest, err := plugintree.ReadManifest(os.DirFS(folder))
	if err != nil {
		return "", err
	}
	return manifest.Name, nil
}

// digestOf is the digest by which a publisher names what lies at a path: of an archive
// that of the file, as sha256sum has it, else that of the entry.
func digestOf(path string, entry lockfile.Plugin) (string, error) {
	if !plugintree.IsArchive(path) {
		return "sha256:" + entry.Digest(workspace.Platform()), nil
	}
	archive, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("open %s: %w", path, err)
	}
	defer archive.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, archive); err != nil {
		return "", fmt.Errorf("read %s: %w", path, err)
	}
	return "sha256:" + hex.EncodeToString(sum.Sum(nil)), nil
}

// entryOfBrought is the entry of what was brought.
func (a *app) entryOfBrought(ctx context.Context, l *lockedProject, name string, b brought, flags addFlags) (lockfile.Plugin, error) {
	entry, err := a.entryOf(ctx, l, name, b.path)
	if err != nil {
		return entry, err
	}
	digest, err := digestOf(b.path, entry)
	if err != nil {
		return entry, err
	}
	if b.archive == "" && flags.digest != "" && flags.digest != digest {
		return entry, &codedError{code: exitPlugin, err: fmt.Errorf("%s has the digest %s, not %s", safePath(b.source), digest, flags.digest), hint: "nothing was taken over"}
	}
	entry.Source, entry.Archive, entry.Signer, entry.Checksums = b.source, b.archive, b.signer, b.checksum
	return entry, nil
}

func (a *app) addPlugin(ctx context.Context, source string, flags addFlags) error {
	l, err := a.lockedProject()
	if err != nil {
		return err
	}
	b, err := a.bring(ctx, l, source, flags, "")
	if err != nil {
		return err
	}
	name := flags.name
	if name == "" {
		if name, err = nameIn(b.path); err != nil {
			return &codedError{code: exitPlugin, err: err}
		}
	}
	if _, there := l.plugin(name); there {
		return &codedError{code: exitConflict, err: fmt.Errorf("plugin %s is there already", name), hint: "take over another version: `flowrun plugins update " + name + "`"}
	}
	entry, err := a.entryOfBrought(ctx, l, name, b, flags)
	if err != nil {
		return err
	}
	a.showEntry(entry)
	granted, err := a.askGrants(name, workspace.Grants(entry.Wants), flags.grant)
	if err != nil {
		return err
	}
	entry.Grants = lockfile.Grants(granted)
	edited, err := project.AddPlugin(l.source, project.Plugin{Name: name, Source: b.source, Grants: granted.Declared()})
	if err != nil {
		return byHand(err)
	}
	if err := l.write(l.lock.With(entry), edited); err != nil {
		return err
	}
	return a.print(itemOfEntry(entry), func() {
		a.say("added %s %s to %s and %s", name, term.Clean(entry.Version), projectFileName, lockfile.Name)
	})
}

// byHand says what to write where a command can't.
func byHand(err error) error {
	if edit, ok := errors.AsType[*project.EditError](err); ok {
		return &codedError{code: exitInvalid, err: err, hint: "write it by hand, then `flowrun plugins lock`: " + edit.Line}
	}
	return err
}

// showEntry shows what is about to be taken in.
func (a *app) showEntry(entry lockfile.Plugin) {
	if a.output == "json" {
		return
	}
	line := func(label, text string) { fmt.Fprintf(a.sys.Stdout, "%-10s %s\n", label, term.Clean(text)) }
	line("plugin", entry.Name+" "+entry.Version)
	line("source", entry.Source)
	line("digest", "sha256:"+entry.Digest(workspace.Platform()))
	if entry.Signer != "" {
		line("signed by", entry.Signer)
	}
	for program, version := range entry.Interpreters {
		line("run by", strings.TrimSpace(program+" "+version))
	}
	line("asks for", cmp.Or(workspace.Grants(entry.Wants).String(), "nothing"))
}

// askGrants has a person say whether a plugin gets what it asks for; whoever says nothing
// grants nothing. Where nobody can be asked the flags must tell: what a script takes in is
// no accident.
func (a *app) askGrants(name string, wants workspace.Grants, flags grantFlags) (workspace.Grants, error) {
	wants.State = false // nobody is kept from it
	asked := term.Clean(wants.String())
	switch {
	case flags.yes && flags.none:
		return workspace.Grants{}, usageError(fmt.Errorf("--yes and %s say the opposite of each other", flags.noneFlag), "give one of them")
	case wants.Empty() || flags.yes:
		return wants, nil
	case flags.none:
	case !term.IsTerminalInput(a.sys.Stdin) || !term.IsTerminal(a.sys.Stderr):
		hint := "--yes grants it"
		if flags.noneFlag != "" {
			hint += ", " + flags.noneFlag + " takes it in without"
		}
		return workspace.Grants{}, usageError(fmt.Errorf("%s asks for %s, and there is no terminal to ask whether it gets it", name, asked), hint)
	default:
		fmt.Fprintf(a.sys.Stderr, "grant %s: %s? [y/N] ", name, asked)
		answer, err := bufio.NewReader(a.sys.Stdin).ReadString('\n')
		if answer = strings.ToLower(strings.TrimSpace(answer)); err == nil && (answer == "y" || answer == "yes") {
			return wants, nil
		}
	}
	a.note("not granted, it runs without: %s", asked)
	return workspace.Grants{}, nil
}

func (a *app) updatePlugin(ctx context.Context, name, source string, flags addFlags) error {
	l, plugin, err := a.ownPlugin(name)
	if err != nil {
		return err
	}
	old, _ := l.lock.Plugin(name)
	from := cmp.Or(source, plugin.Source)
	if source == "" && !install.IsURL(from) {
		from = l.pathOf(plugin, old)
	}
	if flags.checksums == "" && flags.digest == "" && install.IsURL(from) {
		flags.checksums = old.Checksums
	}
	b, err := a.bring(ctx, l, from, flags, old.Signer)
	if err != nil {
		return err
	}
	if source == "" {
		b.source = plugin.Source
	}
	entry, err := a.entryOfBrought(ctx, l, name, b, flags)
	if err != nil {
		return err
	}
	entry.Grants = lockfile.Grants(workspace.GrantsOf(plugin.Grants))
	var edited []byte
	if b.source != plugin.Source {
		if edited, err = project.MovePlugin(l.source, name, b.source); err != nil {
			return byHand(err)
		}
	}
	a.showEntry(entry)
	if missing := workspace.Grants(entry.Wants).Without(workspace.Grants(entry.Grants)); !missing.Empty() {
		a.note("not granted, it runs without: %s", missing)
	}
	if err := l.write(l.lock.With(entry), edited); err != nil {
		return err
	}
	return a.print(itemOfEntry(entry), func() {
		a.say("updated %s in %s: %s, before %s", name, lockfile.Name, term.Clean(entry.Version), term.Clean(cmp.Or(old.Version, "not locked")))
	})
}

// ownPlugin finds a plugin that flowrun.yaml has with a source.
func (a *app) ownPlugin(name string) (*lockedProject, project.Plugin, error) {
	l, err := a.lockedProject()
	if err != nil {
		return nil, project.Plugin{}, err
	}
	plugin, there := l.plugin(name)
	if !there {
		var names []string
		for _, plugin := range l.project.Plugins {
			names = append(names, plugin.Name)
		}
		if slices.Contains(bundledNames(), name) {
			return nil, plugin, notFoundError(fmt.Errorf("plugin %s is bundled: it is part of flowrun, and is another one when flowrun is", name),
				"`flowrun plugins show "+name+"` tells of it; a plugin of your own is taken in by `flowrun plugins add SOURCE`")
		}
		return nil, plugin, notFoundError(fmt.Errorf("%s has no plugin %s with a source", projectFileName, name), diag.DidYouMean(name, names).Text)
	}
	return l, plugin, nil
}

func (a *app) removePlugin(name string) error {
	l, _, err := a.ownPlugin(name)
	if err != nil {
		return err
	}
	edited, err := project.RemovePlugin(l.source, name)
	if err != nil {
		return byHand(err)
	}
	if err := l.write(l.lock.Without(name), edited); err != nil {
		return err
	}
	return a.print(map[string]string{"removed": name}, func() { a.say("removed %s from %s and %s", name, projectFileName, lockfile.Name) })
}

// grantPlugin shows what plugins ask for and have; with a name it grants it.
func (a *app) grantPlugin(ctx context.Context, name string, flags grantFlags) error {
	if name == "" {
		loaded, err := a.loadProject(ctx)
		if err != nil {
			return err
		}
		defer loaded.Close()
		return a.listGrants(loaded)
	}
	l, plugin, err := a.ownPlugin(name)
	if err != nil {
		return err
	}
	entry, err := a.lockedNow(ctx, l, plugin)
	if err != nil {
		return err
	}
	a.showEntry(entry)
	missing := workspace.Grants(entry.Wants).Without(workspace.GrantsOf(plugin.Grants))
	if missing.Empty() {
		return a.print(itemOfEntry(entry), func() { a.say("%s is granted what it asks for", name) })
	}
	more, err := a.askGrants(name, missing, flags)
	if err != nil || more.Empty() {
		return err
	}
	all := workspace.GrantsOf(plugin.Grants).And(more)
	edited, err := project.GrantPlugin(l.source, name, all.Declared())
	if err != nil {
		return byHand(err)
	}
	entry.Grants = lockfile.Grants(all)
	if err := l.write(l.lock.With(entry), edited); err != nil {
		return err
	}
	return a.print(itemOfEntry(entry), func() { a.say("granted %s: %s", name, term.Clean(more.String())) })
}

func (a *app) listGrants(loaded *workspace.Workspace) error {
	items := []entryItem{}
	for _, name := range loaded.PluginNames() {
		wants, granted, err := loaded.PluginGrants(name)
		if err != nil || wants.Empty() && granted.Empty() {
			continue
		}
		items = append(items, entryItem{Plugin: name, Wants: wants, Granted: granted})
	}
	return a.print(map[string]any{"items": items, "next_cursor": nil}, func() {
		for _, item := range items {
			a.say("%-16s asks for %s; granted %s", item.Plugin, term.Clean(cmp.Or(item.Wants.String(), "nothing")), term.Clean(cmp.Or(item.Granted.String(), "nothing")))
		}
	})
}

// Package files is the plugin that reads and writes files below folders that a connection
// names: its roots. No path of a workflow leads out of them, neither by `..` nor by a link,
// whatever others do to the folders meanwhile (ADR 60).
//
// docs/services/files.md says what its actions take and give.
package files

import (
	"crypto/rand"
	"io"
	"os"
	"sync"
	"time"

	"github.com/flowrun/flowrun/plugins/content"
	"github.com/flowrun/flowrun/sdk"
)

// Version is the version of the plugin.
const Version = "1.0.0"

// Options are what the plugin takes from outside.
type Options struct {
	Now    func() time.Time // clock for files that still change
	Random io.Reader        // for names of temporary files
	Dir    string           // folder from which the paths of roots are meant; "" = the process's own
	Home   string           // folder in which simulated connections have their roots
	// Step is told of each step of a write; an error ends it there, as a full disk does.
	// nil = nobody is told.
	Step func(step string) error
}

// New returns the plugin with what a process has.
func New() *sdk.Plugin {
	return NewWith(Options{Now: time.Now, Random: rand.Reader, Dir: sdk.ProjectDir(), Home: home()})
}

// home is the folder that lasts as long as the plugin is in a project.
func home() string {
	if home, err := os.UserHomeDir(); err == nil {
		return home
	}
	return os.TempDir()
}

// NewWith returns the plugin with what a test passes in.
func NewWith(o Options) *sdk.Plugin {
	p := &plugin{options: o}
	return sdk.New("files", Version, "Files below folders that the connection names: text, lines, JSON, CSV and bytes.",
		sdk.UsesState(),
		sdk.Delivery{Action: "write", Content: "content", Path: "path"},
		sdk.ValidateConfig(checkConfig),
		sdk.CheckConnection(p.checkConnection),
		sdk.Read("read", "What a file holds: text, lines, JSON, CSV or bytes.", p.read, shared(
			sdk.Output(sdk.Value(readOutput)), onRoot(func(in ReadInput) (string, bool) { return in.Root, false }),
			sdk.ValidateField("/path", func(in ReadInput) []sdk.Problem { return pathProblems("/path", in.Path) }),
			sdk.ValidateWith(checkRead), sdk.NarrowWith(narrowRead),
			sdk.Fault(sdk.CodeUnexpectedResponse, "", "The file is larger than `max_bytes`, is no UTF-8, or does not hold what `format` and `answer` say."),
			sdk.Example("text", map[string]any{"root": "data", "path": "notes.txt"}, nil),
			sdk.Example("rows of CSV with types", map[string]any{"root": "data", "path": "prices.csv", "format": "csv", "answer": priceRow()}, nil))...),
		sdk.Read("list", "The files and folders of a folder, in the order of their paths, a page at a time.", p.list, shared(
			onRoot(func(in ListInput) (string, bool) { return in.Root, false }), sdk.Paged("after", "entries", "next"), sdk.ItemsNamedBy("path"),
			sdk.ValidateField("/path", func(in ListInput) []sdk.Problem { return folderProblems("/path", in.Path) }),
			sdk.ValidateField("/match", func(in ListInput) []sdk.Problem { return patternProblems(in.Match) }),
			sdk.Example("a whole tree", map[string]any{"root": "data", "recursive": true}, nil))...),
		sdk.Read("stat", "Whether a file or a folder is there, and its size and time.", p.stat, shared(
			onRoot(func(in StatInput) (string, bool) { return in.Root, false }),
			sdk.ValidateField("/path", func(in StatInput) []sdk.Problem { return folderProblems("/path", in.Path) }),
			sdk.Example("a file", map[string]any{"root": "data", "path": "notes.txt"}, nil))...),
		sdk.Read("watch", "The files that stand still, newest first: what a trigger of kind poll asks for.", p.watch, shared(
			onRoot(func(in WatchInput) (string, bool) { return in.Root, false }),
			sdk.ValidateField("/path", func(in WatchInput) []sdk.Problem { return folderProblems("/path", in.Path) }),
			sdk.ValidateField("/match", func(in WatchInput) []sdk.Problem { return patternProblems(in.Match) }),
			sdk.Example("a folder that others drop files into", map[string]any{"root": "data", "match": "*.csv"}, nil))...),
		sdk.Idempotent("write", "Writes a whole file: afterwards it has the content, or what it had before.", p.write, shared(
			onRoot(func(in WriteInput) (string, bool) { return in.Root, true }),
			sdk.ValidateField("/path", func(in WriteInput) []sdk.Problem { return pathProblems("/path", in.Path) }),
			sdk.ValidateWith(checkWrite),
			sdk.Fault(sdk.CodeConflict, "exists", "The file is there with another content, and `exists` is `fail`."),
			sdk.Fault(sdk.CodeConflict, "changed", "The file has neither the content that `if_sha256` names nor the new one."),
			sdk.Example("text", map[string]any{"root": "out", "path": "hello.txt", "content": "hello\n"}, nil),
			sdk.Example("JSON", map[string]any{"root": "out", "path": "state.json", "format": "json", "content": map[string]any{"count": 3}}, nil))...),
		sdk.Keyed("append", "Adds text to the end of a file, once for each call.", p.appendTo, shared(
			onRoot(func(in AppendInput) (string, bool) { return in.Root, true }),
			sdk.ValidateField("/path", func(in AppendInput) []sdk.Problem { return pathProblems("/path", in.Path) }),
			sdk.ValidateWith(checkAppend),
			sdk.Fault(sdk.CodeUnknownOutcome, "others_wrote", "The call was interrupted, and others wrote to the file since: whether it was done can't be told."),
			sdk.Example("a line", map[string]any{"root": "out", "path": "log.txt", "content": "done\n"}, nil))...),
		sdk.Keyed("move", "Gives a file or a folder another path, in this root or another one.", p.move, shared(
			onRoot(func(in MoveInput) (string, bool) { return in.Root, true }),
			sdk.ValidateOn(checkTarget),
			sdk.ValidateField("/path", func(in MoveInput) []sdk.Problem { return pathProblems("/path", in.Path) }),
			sdk.ValidateField("/to", func(in MoveInput) []sdk.Problem { return pathProblems("/to", in.To) }),
			sdk.Fault(sdk.CodeConflict, "exists", "Something is at the new path, and `exists` is `fail`."))...),
		sdk.Idempotent("remove", "Takes a file or a folder away. One that is not there is no failure.", p.remove, shared(
			onRoot(func(in RemoveInput) (string, bool) { return in.Root, true }),
			sdk.ValidateField("/path", func(in RemoveInput) []sdk.Problem { return pathProblems("/path", in.Path) }),
			sdk.Fault(sdk.CodeConflict, "not_empty", "The folder holds something, and `recursive` is not set."),
			sdk.Example("a file", map[string]any{"root": "out", "path": "hello.txt"}, nil))...),
	)
}

// plugin is what the actions share.
type plugin struct {
	options    Options
	simulating sync.Mutex // while a simulated root is made
}

// shared adds to an action's options what all of them have.
func shared(own ...sdk.ActionOption) []sdk.ActionOption {
	return append(own,
		sdk.Timeout(60*time.Second),
		sdk.Fault(sdk.CodeNotFound, "", "There is no such file or folder."),
		sdk.Fault(sdk.CodeForbidden, "outside", "A link leads out of the root: it is not followed."),
		sdk.Fault(sdk.CodeForbidden, "not_granted", "The folder is not granted to the plugin; the hint says what to write."),
		sdk.Fault(sdk.CodeForbidden, "hard_link", "The file has other names, which may lie anywhere; `hard_links: true` of the root allows it."),
		sdk.Fault(sdk.CodeQuotaExhausted, "", "The disk is full."),
	)
}

// onRoot holds the root of an input against those of the connection. of returns the
// input's root, and whether it is written to.
func onRoot[I any](of func(in I) (root string, write bool)) sdk.ActionOption {
	return sdk.ValidateOn(func(config Config, in I, unknown []string) []sdk.Problem {
		if sdk.IsUnknown(unknown, "/root") {
			return nil
		}
		name, write := of(in)
		return config.rootProblems("/root", name, write)
	})
}

// priceRow is the row of the example with types.
func priceRow() map[string]any {
	return map[string]any{
		"type": "object", "required": []string{"name", "price"},
		"properties": map[string]any{"name": map[string]any{"type": "string"}, "price": map[string]any{"type": "number"}},
	}
}

// formatOf is the format of an input.
func formatOf(name string) content.Format { return content.Format(name) }

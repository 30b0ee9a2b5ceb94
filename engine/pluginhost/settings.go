package pluginhost

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/sdk/proto/handshake"
	pluginv1 "github.com/flowrun/flowrun/sdk/proto/pluginv1"
)

// A plugin with the feature `settings` describes what a project tells it (ADR 58). Its
// revision is its executable with what it was told: a changed document is another one.

// Settings are what a project tells a plugin, with the files that it names.
type Settings struct {
	Value json.RawMessage // fits the plugin's schema of settings
	Files []SettingsFile  // by the order of their pointers
}

// SettingsFile is a file that settings name.
type SettingsFile struct {
	Pointer string // JSON Pointer to the path in the settings
	Path    string // as written
	Content []byte
}

// digest is a sha256 over all that is told.
func (s Settings) digest() string {
	sum := sha256.New()
	addPart(sum, s.Value)
	for _, file := range s.Files {
		addPart(sum, []byte(file.Pointer))
		addPart(sum, []byte(file.Path))
		addPart(sum, file.Content)
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// addPart adds a part to a sum, so that no other parts give the same sum.
func addPart(sum hash.Hash, part []byte) {
	fmt.Fprintf(sum, "%d:", len(part))
	_, _ = sum.Write(part) // a sum takes all
}

// toldRevision names the revision of an executable that was told something under a name.
func toldRevision(executable, name, settings string) string {
	sum := sha256.New()
	_, _ = io.WriteString(sum, "settings ")
	for _, part := range []string{executable, name, settings} {
		addPart(sum, []byte(part))
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// wire is what is told, as the protocol has it.
func (s Settings) wire() *pluginv1.Settings {
	told := &pluginv1.Settings{Value: &pluginv1.Value{Json: s.Value}}
	for _, file := range s.Files {
		told.Files = append(told.Files, &pluginv1.SettingsFile{Pointer: file.Pointer, Path: file.Path, Content: file.Content})
	}
	return told
}

// isTold reports whether the unit is a revision of what the plugin was told, or a process
// that is told it.
func (u *unit) isTold() bool {
	return u.exe.told != "" || u.isAttached() && u.source.Settings != nil
}

// settings reads what the project tells the plugin now. The error is a *PluginError, or
// the context's. u.describing is held.
func (u *unit) settings(ctx context.Context) (Settings, error) {
	base, err := u.untold(ctx)
	if err != nil {
		return Settings{}, err
	}
	if !base.Supports(handshake.FeatureSettings) {
		return Settings{}, &PluginError{
			Plugin: u.source.Name, Reason: ReasonSettings, Message: fmt.Sprintf("it takes no settings, and has no other name than %s", base.Name),
			Refused: []Diagnostic{{Error: true, Summary: "the plugin takes no settings, and has no other name than " + base.Name}},
			Hint:    diag.Sayf("call it %s, and take `with` out", base.Name),
		}
	}
	told, err := u.source.Settings(base.SettingsSchema)
	if err != nil {
		return Settings{}, &PluginError{Plugin: u.source.Name, Reason: ReasonSettings, Message: "what flowrun.yaml tells it is wrong: " + err.Error(), Err: err}
	}
	return told, nil
}

// sameSettings reads what the project tells the plugin, which must be what the revision
// was told.
func (u *unit) sameSettings(ctx context.Context) (Settings, error) {
	told, err := u.settings(ctx)
	if err != nil {
		return Settings{}, err
	}
	if !u.isAttached() && toldRevision(u.exe.digest, u.source.Name, told.digest()) != u.exe.told {
		return Settings{}, u.plugin.executableError(&goneRevision{digest: u.exe.told, told: true})
	}
	return told, nil
}

// untold returns what the plugin says of itself where it is told nothing. u.describing is
// held.
func (u *unit) untold(ctx context.Context) (*Description, error) {
	if u.base != nil {
		return u.base, nil
	}
	place := u.plugin.basePath(u.exe)
	if !u.isAttached() {
		if d := readRecord(place, u.exe.digest); d != nil {
			u.base = d
			return d, nil
		}
	}
	d, err := u.askFor(ctx, &pluginv1.DescribeRequest{})
	if err != nil {
		return nil, err
	}
	d.Digest, d.Executable = u.exe.digest, ""
	if err := checkUntold(d); err != nil {
		return nil, u.wrongDescription(err)
	}
	if !u.isAttached() {
		u.remember(place, d)
	}
	u.base = d
	return d, nil
}

// checkUntold judges what is used of a description that was given without settings.
func checkUntold(d *Description) error {
	if !validName(d.Name) {
		return fmt.Errorf("its name is %q: %s", clipped(d.Name), nameRule)
	}
	if !d.Supports(handshake.FeatureSettings) {
		return nil
	}
	settings, err := objectSchema(d.SettingsSchema)
	if err != nil {
		return fmt.Errorf("settings schema: %w", err)
	}
	if settings.HasSecret() {
		return errors.New("settings schema: it has secrets, which are for connections: what is told is kept in clear")
	}
	return nil
}

// Package archtest holds the import rules of the module and checks packages
// against them. The rules are those of ARCHITECTURE.md: what is not allowed is
// forbidden.
package archtest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Module is the import path of the product module.
const Module = "github.com/flowrun/flowrun"

// Package is a package with the imports of its files, those of its tests apart.
type Package struct {
	ImportPath   string
	Imports      []string
	TestImports  []string
	XTestImports []string // of the tests outside of it
	Files        int      // without tests
	Lines        int      // of those files
}

// Bound is how large a package may be at most, without its tests.
type Bound struct{ Files, Lines int }

// Rules say who may import whom inside the module, and which package alone may
// import a library.
type Rules struct {
	// Allowed maps a package, relative to the module, to the packages of ours
	// that it may import. "x/*" stands for every direct child of x, "x/**" for
	// every package below it. The line of the nearest named parent covers a
	// package that has none of its own, and a package may always import those
	// below itself; engine alone names its own, since some of them stay apart.
	Allowed map[string][]string
	// Sole maps a library's import path prefix to its only importers.
	Sole map[string][]string
	// Behind maps a package of ours that stands behind a seam to those that may name
	// it, their tests included: others have the seam.
	Behind map[string][]string
	// Bounds are packages that shall not grow: wiring that takes in logic again.
	Bounds map[string]Bound
}

// ProductRules returns the rules of this module.
func ProductRules() Rules { //nolint:funlen // a table
	rules := Rules{
		Allowed: map[string][]string{
			"cmd/flowrun":         {"internal/cli"},
			"internal/cli":        append(rooms(), "engine/secret", "engine/collector", "engine/content", "engine/install", "engine/lockfile", "engine/pluginlog", "engine/plugintree", "engine", "engine/evaluate", "engine/importer", "engine/duration", "engine/peer", "engine/telemetry", "engine/diag", "engine/project", "engine/plan", "engine/runs", "engine/graph", "engine/conformance", "engine/upgrade", "internal/doctor", "internal/mcpserver", "internal/plugintemplate", "internal/releaselist", "internal/web", "internal/web/guard", "internal/web/page", "internal/web/wire", "internal/sandbox", "sdk", "plugins/*"),
			"internal/cli/view":   append(rooms(), "engine", "engine/duration", "engine/diag", "engine/plan", "engine/runs", "engine/evaluate", "engine/graph", "engine/lastwords", "internal/cli/term", "internal/doctor"),
			"internal/web":        append(rooms(), "engine/stack", "docs", "engine", "engine/content", "engine/duration", "engine/diag", "engine/peer", "engine/plan", "engine/runs", "engine/graph"),
			"internal/web/guard":  {"engine/diag", "internal/web/wire"},
			"internal/web/wire":   {"engine/diag"},
			"internal/mcpserver":  append(rooms(), "docs", "engine", "engine/diag", "engine/runs", "internal/web", "internal/web/guard", "internal/web/wire"),
			"docs":                {},
			"internal/web/packed": {},
			"internal/web/saved":  {},
			"internal/web/page":   append(rooms(), "engine", "engine/content", "engine/diag", "engine/duration", "engine/plan", "engine/runs", "engine/graph", "engine/lastwords", "internal/web/guard", "internal/web/markdown", "internal/web/packed", "internal/web/saved", "internal/web/wire"),

			"internal/web/markdown": {},
			"internal/releaselist":  {},
			"internal/testbuild":    {},
			"internal/testsdk":      {},
			"internal/testpattern":  {},
			"internal/testpage":     {},
			"internal/testvalue":    {},

			"internal/plugintemplate":        {"sdk/python"},
			"internal/plugintemplate/golang": {"internal/plugintemplate/golang/sim", "sdk"},
			"internal/testcommand":           {"internal/cli"},
			"internal/suitesize":             {},
			"bench/figures":                  {},
			"bench/probe":                    {},
			"bench/program":                  {},
			"bench/page":                     {"bench/figures"},
			"bench/start":                    {"bench/figures", "bench/probe", "bench/program"},
			"bench/floor":                    {"bench/figures", "bench/probe"},
			"bench/scenarios":                {"bench/figures", "bench/probe", "bench/program", "engine", "engine/boltstore", "engine/collector", "engine/journal", "engine/runs", "engine/spec", "engine/store", "engine/workspace", "test/systrace"},
			"test/walks":                     {"engine", "engine/runs", "engine/workspace", "internal/cli", "internal/web", "internal/web/guard", "sdk"},

			"internal/doctor":   append(rooms(), "engine", "engine/diag", "engine/plan", "engine/runs", "engine/telemetry", "internal/web"),
			"internal/sandbox":  {"plugins/*/*sim"},
			"internal/simkit":   {},
			"internal/archtest": {},
			"internal/mutant":   {},
			"plugins":           {"sdk"},
			"plugins/content":   {"sdk"},
			"plugins/files":     {"plugins/content", "sdk"},
			"plugins/exec":      {"plugins/content", "plugins/internal/process", "sdk"},
			"plugins/http":      {"plugins/content", "sdk"},
			"plugins/mail":      {"plugins/internal/*", "sdk"},
			"plugins/mcp":       {"plugins/content", "plugins/internal/*", "sdk"},
			"plugins/*/*sim":    {"internal/simkit"},
			// services with a description are called by recipes
			"plugins/netinfo":          {"plugins/internal/service", "plugins/internal/recipe", "sdk"},
			"plugins/dictionary":       {"plugins/internal/service", "plugins/internal/recipe", "sdk"},
			"plugins/internal/service": {"plugins/internal/recipe", "sdk"},
			// the plugins that are told what they are share how recipes are run
			"plugins/openapi": {"sdk", "plugins/internal/*", "plugins/openapi/**"},
			"plugins/openapi/cmd/flowrun-plugin-openapi": {"plugins/openapi", "plugins/openapi/openapisim"},
			"plugins/openapi/openapisim":                 {"internal/simkit", "plugins/internal/*", "plugins/openapi/**"},
			"plugins/*/cmd/*":                            {"plugins/*"},
			// the module of the SDK imports nothing of flowrun's own
			"sdk":          {"sdk/near", "sdk/proto/**"},
			"sdk/near":     {},
			"sdk/internal": {},
			"sdk/proto":    {"sdk/proto/pluginv1"},
			"sdk/sdktest":  {"sdk", "sdk/proto/**"},
			"proto":        {"sdk/proto/**"},

			"engine":               parts(),
			"engine/check":         {"engine/content", "engine/duration", "engine/spec", "engine/eval", "engine/schema", "engine/schedule/cron", "engine/plan", "engine/quota", "engine/runs", "engine/diag"},
			"engine/mend":          {"engine/check", "engine/diag", "engine/duration", "engine/eval", "engine/plan", "engine/schema", "engine/spec"},
			"engine/spec":          {"engine/diag", "engine/plan", "engine/quota", "engine/runs"},
			"engine/eval":          {"engine/duration", "engine/schema", "engine/quota", "engine/diag"},
			"engine/format":        {"engine/spec", "engine/eval", "engine/diag"},
			"engine/evaluate":      {"engine/diag", "engine/eval", "engine/runs", "engine/schema"},
			"engine/importer":      {"engine/diag", "engine/duration", "engine/format", "engine/schedule/cron", "engine/spec"},
			"engine/editor":        {"engine/duration", "engine/plan", "engine/schema", "engine/spec"},
			"engine/project":       {"engine/duration", "engine/spec", "engine/quota", "engine/diag"},
			"engine/interp":        {"engine/diag", "engine/plan", "engine/quota", "engine/runs", "engine/eval", "engine/schema", "engine/journal"},
			"engine/journal":       {"engine/jsontext", "engine/plan", "engine/runs"},
			"engine/graph":         {"engine/duration", "engine/plan", "engine/runs"},
			"engine/notify":        {"engine/diag", "engine/plan", "engine/runs"},
			"engine/dispatch":      {"engine/journal", "engine/plan", "engine/runs", "engine/store"},
			"engine/local":         {"engine/diag", "engine/dispatch", "engine/drive", "engine/interp", "engine/journal", "engine/plan", "engine/quota", "engine/runs", "engine/store"},
			"engine/temporal":      {"engine/interp", "engine/journal", "engine/plan"},
			"engine/drive":         {"engine/jsontext", "engine/interp", "engine/journal", "engine/plan", "engine/runs"},
			"engine/enginetest":    {"engine/drive", "engine/interp", "engine/journal", "engine/plan", "engine/runs", "engine/spec", "engine/check"},
			"engine/testrun":       {"engine/content", "engine/drive", "engine/duration", "engine/spec", "engine/plan", "engine/runs", "engine/interp", "engine/eval", "engine/schema", "engine/journal", "engine/diag"},
			"engine/store":         {"engine/journal", "engine/quota", "engine/runs"},
			"engine/storetest":     {"engine/journal", "engine/plan", "engine/quota", "engine/runs", "engine/store", "engine/memstore"},
			"engine/memstore":      {"engine/journal", "engine/quota", "engine/runs", "engine/store"},
			"engine/boltstore":     {"engine/stack", "engine/jsontext", "engine/diag", "engine/journal", "engine/plan", "engine/quota", "engine/runs", "engine/store"},
			"engine/schedule":      {"engine/schedule/cron", "engine/plan", "engine/runs"},
			"engine/lastwords":     {},
			"engine/lockfile":      {sorting},
			"engine/pluginlog":     {},
			"engine/install":       {"engine/plugintree"},
			"engine/plugintree":    {"engine/diag", "engine/quota", "engine/spec"},
			"engine/pluginhost":    {"proto/pluginv1grpc", "sdk/proto/**", "engine/lastwords", "engine/pluginlog", "engine/plugintree", "engine/peer", "engine/schema", "engine/secret", "engine/plan", "engine/quota", "engine/runs", "engine/diag"},
			"engine/conformance":   {"proto/pluginv1grpc", "engine/pluginhost", "engine/pluginhost/gate", "sdk/proto/**", "engine/schema"},
			"engine/telemetry":     {"engine/plan", "engine/runs", "engine/vitals"},
			"engine/jsontext":      {},
			"engine/stack":         {},
			"engine/plan":          {"engine/jsontext"},
			"engine/quota":         {},
			"engine/collector":     {},
			"engine/content":       {"engine/diag", "engine/plan", "engine/quota", "engine/runs", "engine/schema", "engine/content/rows", "sdk/proto/document"},
			"engine/content/rows":  {},
			"engine/runs":          {"engine/jsontext", "engine/plan", "engine/diag"},
			"engine/fault":         {"engine/diag"},
			"engine/diag":          {"sdk/near"},
			"engine/duration":      {},
			"engine/schema":        {"engine/duration", "engine/diag"},
			"engine/secret":        {sorting},
			"engine/ratelimit":     {"engine/duration"},
			"engine/strictmode":    {"engine/diag"},
			"engine/peer":          {},
			"engine/schedule/cron": {"engine/diag"},
		},
		Sole:   soleImporters(),
		Bounds: map[string]Bound{"engine": {Files: 25, Lines: 5000}},
		// engine is the wiring, the scenarios fill stores; the others are tests of what lies in the file.
		Behind: map[string][]string{"engine/boltstore": {
			"bench/scenarios", "engine", "engine/local", "test/completion", "test/killloop", "test/largevalues", "test/serve", "test/storefaults", "test/tokens", "test/triggers",
		}},
	}
	maps.Copy(rules.Allowed, roomRules())
	// Who imports something of ours may sort, too: the package imports nothing.
	for name, allowed := range rules.Allowed {
		if len(allowed) > 0 && allowed[0] != sorting && (strings.HasPrefix(name, "engine") || strings.HasPrefix(name, "internal/")) {
			rules.Allowed[name] = append(slices.Clone(allowed), sorting)
		}
	}
	rules.Allowed[sorting] = nil
	return rules
}

// sorting sorts lists of structs.
const sorting = "engine/order"

// roomRules are those of the parts that the engine was taken apart into (ADR 34).
func roomRules() map[string][]string {
	return map[string][]string{
		"engine/workspace": {
			"engine/check", "engine/content", "engine/diag", "engine/editor", "engine/eval", "engine/fault", "engine/format", "engine/interp", "engine/journal", "engine/mend", "engine/notify",
			"engine/plan", "engine/runs", "engine/pluginhost", "engine/project", "engine/ratelimit", "engine/schema", "engine/secret", "engine/services", "engine/spec",
			"engine/store", "engine/strictmode", "engine/testrun", "engine/install", "engine/lockfile", "engine/plugintree", "engine/quota",
		},
		"engine/inforce": {
			"engine/check", "engine/diag", "engine/eval", "engine/fault", "engine/interp", "engine/plan", "engine/schedule", "engine/spec", "engine/workspace",
		},
		"engine/access":      {"engine/diag", "engine/fault", "engine/store"},
		"engine/calls":       {"engine/diag", "engine/plan", "engine/pluginhost", "engine/project", "engine/runs", "engine/schema", "engine/workspace"},
		"engine/connections": {"engine/calls", "engine/diag", "engine/plan", "engine/pluginhost", "engine/runs", "engine/schema", "engine/workspace"},
		"engine/deliver":     {"engine/diag", "engine/fault", "engine/interp", "engine/notify", "engine/plan", "engine/runs", "engine/schema", "engine/store", "engine/workspace"},
		"engine/memory":      {"engine/check", "engine/diag", "engine/fault", "engine/plan", "engine/runs", "engine/schema", "engine/spec", "engine/store", "engine/workspace"},
		"engine/upkeep":      {"engine/calls", "engine/diag", "engine/fault", "engine/journal", "engine/runs", "engine/secret", "engine/services", "engine/store", "engine/workspace"},
		"engine/trigger": {
			"engine/diag", "engine/fault", "engine/inforce", "engine/interp", "engine/notify", "engine/plan", "engine/project", "engine/runs", "engine/schedule",
			"engine/schema", "engine/secret", "engine/store", "engine/workspace",
		},
		"engine/upgrade":  {"engine/diag", "engine/plan", "engine/pluginhost", "engine/runs", "engine/schema", "engine/workspace"},
		"engine/ports":    {"engine/dispatch", "engine/plan", "engine/runs", "engine/ratelimit", "engine/store", "engine/workspace"},
		"engine/rundiff":  {"engine/plan", "engine/runs"},
		"engine/runstats": {"engine/plan", "engine/runs"},
		"engine/runquery": {"engine/diag", "engine/duration", "engine/eval", "engine/plan", "engine/runs", "engine/schema", "engine/store"},
		"engine/preview":  {"engine/eval", "engine/fault", "engine/plan", "engine/runs", "engine/ratelimit", "engine/schema", "engine/workspace"},
		"engine/services": {"engine/diag", "engine/fault", "engine/secret", "engine/store", "engine/plan", "engine/quota", "engine/runs", "engine/pluginhost"},
	}
}

// parts are what the engine is joined of.
func parts() []string {
	return append(rooms(), []string{
		"engine/boltstore", "engine/check", "engine/diag", "engine/dispatch", "engine/duration", "engine/editor", "engine/eval", "engine/format", "engine/graph", "engine/interp",
		"engine/journal", "engine/local", "engine/notify", "engine/peer", "engine/plan", "engine/pluginhost", "engine/ports", "engine/project",
		"engine/quota", "engine/ratelimit", "engine/runs", "engine/schedule", "engine/schedule/cron", "engine/schema", "engine/secret", "engine/spec",
		"engine/store", "engine/strictmode", "engine/testrun",
	}...)
}

// rooms are the parts of the engine that those who use it may name too: their types
// are in its API.
func rooms() []string {
	return []string{"engine/access", "engine/calls", "engine/connections", "engine/deliver", "engine/fault", "engine/inforce", "engine/memory", "engine/preview", "engine/rundiff", "engine/runquery", "engine/runstats", "engine/services", "engine/trigger", "engine/upkeep", "engine/vitals", "engine/workspace"}
}

// soleImporters are the libraries that one part of the product alone may import.
func soleImporters() map[string][]string {
	return map[string][]string{
		"gopkg.in/yaml.v3":                    {"engine/spec", "plugins/openapi/tree"},
		"go.yaml.in/yaml":                     {"engine/spec"},
		"github.com/expr-lang/expr":           {"engine/eval"},
		"go.etcd.io/bbolt":                    {"engine/boltstore/sealedpages", "engine/boltstore", "bench/floor"}, // the store for its errors alone
		"google.golang.org/protobuf":          {"engine/pluginhost", "engine/conformance", "sdk", "bench/floor"},
		"google.golang.org/grpc":              {"engine/pluginhost", "engine/conformance", "proto/pluginv1grpc", "bench/floor"}, // no plugin has it (ADR 57)
		"github.com/hashicorp/go-plugin":      {"engine/pluginhost", "engine/conformance"},
		"connectrpc.com/connect":              {"sdk"},
		"github.com/santhosh-tekuri":          {"engine/schema"},
		"github.com/google/jsonschema-go":     {"internal/mcpserver"},
		"go.temporal.io/sdk":                  {"engine/temporal"},
		"github.com/rogpeppe/go-internal":     {},
		"github.com/google/go-cmp":            {"engine/enginetest", "engine/storetest"},
		"pgregory.net/rapid":                  {"engine/storetest", "internal/testvalue"},
		"go.uber.org/goleak":                  {},
		"github.com/danielgtaylor/huma/v2":    {"internal/web"},
		"github.com/spf13/cobra":              {"internal/cli"},
		"golang.org/x/mod":                    {"internal/releaselist"},
		"github.com/prometheus/client_golang": {"engine/telemetry"},
		"go.opentelemetry.io":                 {"engine/telemetry"},
		"github.com/go-logr/logr":             {"engine/telemetry"},
		"github.com/yuin/goldmark":            {"internal/testpage", "internal/web/markdown", "plugins/mail"},
		"github.com/wneessen/go-mail":         {"plugins/mail"},
		"github.com/modelcontextprotocol":     {"internal/mcpserver", "plugins/mcp"},
	}
}

// Violations returns one line for every import that the rules forbid, sorted.
func (r Rules) Violations(packages []Package) []string {
	var found []string
	for _, p := range packages {
		own, ours := strings.CutPrefix(p.ImportPath, Module+"/")
		if !ours {
			continue
		}
		for target, users := range r.Behind {
			if own != target && !slices.Contains(users, own) && slices.Contains(slices.Concat(p.Imports, p.TestImports, p.XTestImports), Module+"/"+target) {
				found = append(found, fmt.Sprintf("%s must not name %s, not in its tests either: it stands behind a seam", own, target))
			}
		}
		if bound, bounded := r.Bounds[own]; bounded && (p.Files > bound.Files || p.Lines > bound.Lines) {
			found = append(found, fmt.Sprintf("%s has %d files of %d lines: at most %d of %d; a new idea is a part of its own", own, p.Files, p.Lines, bound.Files, bound.Lines))
		}
		for _, imported := range p.Imports {
			if target, ours := strings.CutPrefix(imported, Module+"/"); ours {
				if !r.allowed(own, target) {
					found = append(found, fmt.Sprintf("%s must not import %s", own, target))
				}
				continue
			}
			for library, importers := range r.Sole {
				if within(imported, library) && !slices.ContainsFunc(importers, func(i string) bool { return within(own, i) }) {
					found = append(found, fmt.Sprintf("%s must not import %s: only %v may", own, imported, importers))
				}
			}
		}
	}
	slices.Sort(found)
	return found
}

func (r Rules) allowed(own, target string) bool {
	if within(target, own) && own != "engine" {
		return true
	}
	line, ok := r.line(own)
	if !ok {
		return false
	}
	return slices.ContainsFunc(line, func(pattern string) bool { return matches(target, pattern) })
}

// line finds the rule that covers a package: its own, one with a pattern, else
// that of its nearest parent.
func (r Rules) line(own string) ([]string, bool) {
	for path := own; path != ""; path = parent(path) {
		if line, ok := r.Allowed[path]; ok {
			return line, true
		}
		for pattern, line := range r.Allowed {
			if strings.Contains(pattern, "*") && matches(path, pattern) {
				return line, true
			}
		}
	}
	return nil, false
}

func parent(path string) string {
	if i := strings.LastIndexByte(path, '/'); i >= 0 {
		return path[:i]
	}
	return ""
}

func within(path, parent string) bool {
	return path == parent || strings.HasPrefix(path, parent+"/")
}

// matches compares segment by segment: "*" is one whole segment, "*x" one that
// ends in x, a last "**" anything below (and the package itself).
func matches(path, pattern string) bool {
	parts, wanted := strings.Split(path, "/"), strings.Split(pattern, "/")
	for i, want := range wanted {
		if want == "**" {
			return len(parts) >= i
		}
		if i >= len(parts) {
			return false
		}
		if suffix, star := strings.CutPrefix(want, "*"); star {
			if !strings.HasSuffix(parts[i], suffix) {
				return false
			}
		} else if parts[i] != want {
			return false
		}
	}
	return len(parts) == len(wanted)
}

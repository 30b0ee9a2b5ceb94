// Package testsdk publishes the module of the SDK, as it is in this tree, to the go
// command of tests: in a folder that is a module proxy. So a test does what an author
// does, outside of the tree, before there is a tag.
package testsdk

import (
	"archive/zip"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// Module is the import path of the SDK.
const Module = "github.com/flowrun/flowrun/sdk"

// Published is the SDK in a module proxy.
type Published struct {
	// Version is that of what was published. It is another one for other content: the go
	// command keeps what it once had under a version.
	Version string

	proxy string // the proxy's folder
	next  string // where all other modules come from
}

// Publish writes a proxy with the module that lies in source, "../../sdk" say, into dir.
// What `go get github.com/flowrun/flowrun/sdk@latest` asks of a proxy is there.
func Publish(dir, source string) (*Published, error) {
	files, err := filesOf(source)
	if err != nil {
		return nil, fmt.Errorf("read the SDK: %w", err)
	}
	sum := sha256.New()
	for _, f := range files {
		fmt.Fprintf(sum, "%s %d\n%s", f.name, len(f.content), f.content)
	}
	dir, err = filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("find the folder of the proxy: %w", err)
	}
	next, err := exec.Command("go", "env", "GOPROXY").Output()
	if err != nil {
		return nil, fmt.Errorf("ask for the module proxy: %w", err)
	}
	p := &Published{Version: "v0.1.0-x" + hex.EncodeToString(sum.Sum(nil))[:12], proxy: dir, next: strings.TrimSpace(string(next))}
	if err := p.write(files); err != nil {
		return nil, fmt.Errorf("publish the SDK: %w", err)
	}
	return p, nil
}

// Environ is an environment in which the go command finds the SDK, and may write into
// go.mod and go.sum what it found: base is that of the process, from os.Environ.
func (p *Published) Environ(base []string) []string {
	own := []string{"GOPROXY", "GONOSUMDB", "GOPRIVATE", "GONOPROXY", "GOFLAGS", "GOWORK"}
	env := slices.DeleteFunc(slices.Clone(base), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return slices.Contains(own, name)
	})
	return append(env, "GOPROXY=file://"+filepath.ToSlash(p.proxy)+","+p.next, "GONOSUMDB="+Module, "GOPRIVATE=", "GONOPROXY=none", "GOFLAGS=-mod=mod", "GOWORK=off")
}

// file is one of the module.
type file struct {
	name    string // from the module's folder, with slashes
	content []byte
}

// filesOf are the files of a module, sorted by name: no hidden ones, none of modules
// below it, and nothing that programs left beside the source.
func filesOf(source string) (files []file, err error) {
	err = filepath.WalkDir(source, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(source, path)
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if name != "." && (strings.HasPrefix(entry.Name(), ".") || entry.Name() == "__pycache__" || isModule(path)) {
				return filepath.SkipDir
			}
			return nil
		}
		if strings.HasPrefix(entry.Name(), ".") {
			return nil
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		files = append(files, file{filepath.ToSlash(name), content})
		return nil
	})
	return files, err
}

func isModule(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "go.mod"))
	return err == nil
}

// write puts the files of the proxy's protocol there: https://go.dev/ref/mod#goproxy-protocol
func (p *Published) write(files []file) error {
	i := slices.IndexFunc(files, func(f file) bool { return f.name == "go.mod" })
	if i < 0 {
		return fmt.Errorf("it has no go.mod")
	}
	folder := filepath.Join(p.proxy, filepath.FromSlash(Module), "@v")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	info := fmt.Appendf(nil, `{"Version":%q,"Time":"2026-01-01T00:00:00Z"}`, p.Version)
	for name, content := range map[string][]byte{
		"@v/list": []byte(p.Version + "\n"), "@latest": info, "@v/" + p.Version + ".info": info, "@v/" + p.Version + ".mod": files[i].content,
	} {
		if err := os.WriteFile(filepath.Join(folder, "..", filepath.FromSlash(name)), content, 0o644); err != nil {
			return err
		}
	}
	archive, err := os.Create(filepath.Join(folder, p.Version+".zip"))
	if err != nil {
		return err
	}
	defer archive.Close()
	if err := p.pack(archive, files); err != nil {
		return err
	}
	return archive.Close()
}

// pack writes the module's archive.
func (p *Published) pack(to io.Writer, files []file) error {
	z := zip.NewWriter(to)
	for _, f := range files {
		w, err := z.Create(Module + "@" + p.Version + "/" + f.name)
		if err != nil {
			return err
		}
		if _, err := w.Write(f.content); err != nil {
			return err
		}
	}
	return z.Close()
}

package plugintree

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// IsArchive reports whether a file's name is that of an archive that Unpack reads.
func IsArchive(name string) bool {
	lower := strings.ToLower(name)
	return strings.HasSuffix(lower, ".tar.gz") || strings.HasSuffix(lower, ".tgz") || strings.HasSuffix(lower, ".zip")
}

// Unpack writes what an archive holds into an empty folder and returns where the plugin's
// tree begins: there, or in the one folder that all lies in. Paths and links stay inside,
// there are files, folders and links alone, and never two of one name; of modes the right
// to execute is kept.
func Unpack(archive *os.File, dir string, limits Limits) (string, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return "", fmt.Errorf("unpack %s: %w", archive.Name(), err)
	}
	defer func() { _ = root.Close() }()
	u := &unpacker{to: root, limits: limits, left: limits.Bytes, links: map[string]string{}}
	if strings.HasSuffix(strings.ToLower(archive.Name()), ".zip") {
		err = u.zip(archive)
	} else {
		err = u.tar(archive)
	}
	for name, target := range u.links {
		// Last: nothing is written through a link.
		if err == nil {
			err = writeLink(root, name, target)
		}
	}
	if err != nil {
		return "", fmt.Errorf("unpack %s: %w", archive.Name(), err)
	}
	return top(dir)
}

// top is where the manifest lies: an archive often has one folder with all the rest.
func top(dir string) (string, error) {
	if _, err := os.Lstat(filepath.Join(dir, ManifestName)); !errors.Is(err, fs.ErrNotExist) {
		return dir, nil //nolint:nilerr // who reads it will tell
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "", fmt.Errorf("look into an unpacked archive: %w", err)
	}
	if len(entries) == 1 && entries[0].IsDir() {
		return filepath.Join(dir, entries[0].Name()), nil
	}
	return dir, nil
}

type unpacker struct {
	to      *os.Root
	limits  Limits
	left    int64
	entries int
	links   map[string]string // written at the end
}

func (u *unpacker) tar(archive io.Reader) error {
	unzipped, err := gzip.NewReader(archive)
	if err != nil {
		return fmt.Errorf("it is no .tar.gz: %w", err)
	}
	defer func() { _ = unzipped.Close() }()
	// What lies between the files (headers, padding) is bounded too.
	bounded := &io.LimitedReader{R: unzipped, N: u.limits.Bytes + int64(u.limits.Files)*4096}
	reader := tar.NewReader(bounded)
	for {
		header, err := reader.Next()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case bounded.N <= 0:
			return u.tooLarge()
		case err != nil:
			return fmt.Errorf("it is damaged: %w", err)
		}
		switch header.Typeflag {
		case tar.TypeXGlobalHeader:
			continue
		case tar.TypeReg:
			err = u.file(header.Name, header.FileInfo().Mode(), reader)
		case tar.TypeDir:
			err = u.folder(header.Name)
		case tar.TypeSymlink:
			err = u.link(header.Name, header.Linkname)
		default:
			err = fmt.Errorf("%q is neither a file, a folder nor a symbolic link", header.Name)
		}
		if err != nil {
			return err
		}
	}
}

func (u *unpacker) zip(archive *os.File) error {
	info, err := archive.Stat()
	if err != nil {
		return err //nolint:wrapcheck // it names the path
	}
	reader, err := zip.NewReader(archive, info.Size())
	if err != nil {
		return fmt.Errorf("it is no .zip: %w", err)
	}
	for _, file := range reader.File {
		if err := u.zipped(file); err != nil {
			return err
		}
	}
	return nil
}

func (u *unpacker) zipped(file *zip.File) error {
	mode := file.Mode()
	switch {
	case mode.IsDir():
		return u.folder(file.Name)
	case !mode.IsRegular() && mode.Type() != fs.ModeSymlink:
		return fmt.Errorf("%q is neither a file, a folder nor a symbolic link", file.Name)
	}
	content, err := file.Open()
	if err != nil {
		return fmt.Errorf("%q: %w", file.Name, err)
	}
	defer content.Close()
	if mode.IsRegular() {
		return u.file(file.Name, mode, content)
	}
	target, err := io.ReadAll(io.LimitReader(content, 4096))
	if err != nil {
		return fmt.Errorf("%q: %w", file.Name, err)
	}
	return u.link(file.Name, string(target))
}

func (u *unpacker) file(name string, mode fs.FileMode, content io.Reader) error {
	clean, err := u.enter(name)
	if err != nil {
		return err
	}
	return copyFile(u.to, clean, mode.Perm()&0o100 != 0, content, &u.left)
}

func (u *unpacker) folder(name string) error {
	clean, err := u.enter(strings.TrimSuffix(name, "/"))
	if err != nil || clean == "." {
		return err
	}
	return u.to.MkdirAll(filepath.FromSlash(clean), 0o700) //nolint:wrapcheck // it names the path
}

func (u *unpacker) link(name, target string) error {
	clean, err := u.enter(name)
	if err != nil {
		return err
	}
	if _, twice := u.links[clean]; twice {
		return fmt.Errorf("%q stands there twice", name)
	}
	u.links[clean] = target
	return checkLink(clean, target)
}

// enter counts an entry and returns its path inside the tree.
func (u *unpacker) enter(name string) (string, error) {
	if u.entries++; u.entries > u.limits.Files {
		return "", u.tooLarge()
	}
	clean := path.Clean(name)
	if name == "" || strings.ContainsAny(name, "\\\x00") || !filepath.IsLocal(filepath.FromSlash(clean)) || strings.Contains("/"+name+"/", "/../") {
		return "", fmt.Errorf("%q would lie outside of the tree", name)
	}
	return clean, nil
}

func (u *unpacker) tooLarge() error {
	return &TooLargeError{What: fmt.Sprintf("more than %d files or %d MiB", u.limits.Files, u.limits.Bytes>>20)}
}

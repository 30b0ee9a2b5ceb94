package main

import (
	"bytes"
	"context"
	"encoding/pem"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// authorities are the certificates of the authorities that Mozilla trusts, in PEM, as
// they lie in golang.org/x/crypto at the version of go.sum: the same on any machine.
func authorities() []byte {
	var b bytes.Buffer
	for root := range bundle.Roots() {
		_ = pem.Encode(&b, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}) // into memory
	}
	return b.Bytes()
}

// imageUser is the user in an image; the number is that of "nonroot" in images of others.
const imageUser = "flowrun:x:65532:65532:flowrun:/var/lib/flowrun:/sbin/nologin\n"

// rootFiles are the files of an image by their place below /rootfs in the Dockerfile's
// first stage. A name that ends with a slash is a folder.
func (m *maker) rootFiles(p *parts) ([]entry, error) {
	licence, err := os.ReadFile(filepath.Join(m.source, "LICENSE"))
	if err != nil {
		return nil, fmt.Errorf("put the licence into the image: %w", err)
	}
	return []entry{
		{"system/etc/", 0o755, nil},
		{"system/etc/group", 0o644, []byte("root:x:0:\nflowrun:x:65532:\n")},
		{"system/etc/nsswitch.conf", 0o644, []byte("hosts: files dns\n")},
		{"system/etc/passwd", 0o644, []byte("root:x:0:0:root:/root:/sbin/nologin\n" + imageUser)},
		{"system/etc/ssl/", 0o755, nil},
		{"system/etc/ssl/certs/", 0o755, nil},
		{"system/etc/ssl/certs/ca-certificates.crt", 0o644, m.roots},
		{"system/project/", 0o755, nil},
		{"system/tmp/", 0o1777, nil},
		{"system/usr/", 0o755, nil},
		{"system/usr/local/", 0o755, nil},
		{"system/usr/local/bin/", 0o755, nil},
		{"system/usr/local/bin/flowrun", 0o755, p.program.content},
		{"system/usr/share/", 0o755, nil},
		{"system/usr/share/doc/", 0o755, nil},
		{"system/usr/share/doc/flowrun/", 0o755, nil},
		{"system/usr/share/doc/flowrun/LICENSE", 0o644, licence},
		{"system/usr/share/doc/flowrun/LICENSES-OF-MODULES.txt", 0o644, p.notices},
		{"system/usr/share/doc/flowrun/flowrun.cdx.json", 0o644, p.bom},
		{"system/var/", 0o755, nil},
		{"system/var/lib/", 0o755, nil},
		{"state/flowrun/", 0o700, nil},
	}, nil
}

// rootfs writes the files of an image for this machine's architecture into a folder: the
// step of the Dockerfile.
func rootfs(ctx context.Context, source, dir string, out io.Writer) error {
	m, err := newMaker(ctx, source)
	if err != nil {
		return err
	}
	p, err := m.partsOf(ctx, here())
	if err != nil {
		return err
	}
	files, err := m.rootFiles(p)
	if err != nil {
		return err
	}
	for _, f := range files {
		if err := writeEntry(filepath.Join(dir, filepath.FromSlash(f.name)), f); err != nil {
			return err
		}
	}
	fmt.Fprintf(out, "flowrun %s in %s\n", p.program.version, dir)
	return nil
}

func writeEntry(path string, f entry) error {
	mode := os.FileMode(f.mode & 0o777)
	if f.mode&0o1000 != 0 {
		mode |= os.ModeSticky
	}
	var err error
	if strings.HasSuffix(f.name, "/") {
		err = os.MkdirAll(path, 0o755)
	} else {
		err = os.WriteFile(path, f.content, 0o644)
	}
	if err == nil {
		err = os.Chmod(path, mode) // whatever the umask
	}
	if err != nil {
		return fmt.Errorf("write the files of the image: %w", err)
	}
	return nil
}

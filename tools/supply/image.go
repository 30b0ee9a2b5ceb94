package main

import (
	"archive/tar"
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// The media types of the OCI image specification 1.1.
const (
	typeIndex    = "application/vnd.oci.image.index.v1+json"
	typeManifest = "application/vnd.oci.image.manifest.v1+json"
	typeConfig   = "application/vnd.oci.image.config.v1+json"
	typeLayer    = "application/vnd.oci.image.layer.v1.tar+gzip"
)

// descriptor points to a blob.
type descriptor struct {
	MediaType   string            `json:"mediaType"`
	Digest      string            `json:"digest"`
	Size        int64             `json:"size"`
	Platform    *platform         `json:"platform,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

type platform struct {
	Architecture string `json:"architecture"`
	OS           string `json:"os"`
}

// index is index.json.
type index struct {
	SchemaVersion int          `json:"schemaVersion"`
	MediaType     string       `json:"mediaType"`
	Manifests     []descriptor `json:"manifests"`
}

// manifest is an image: its configuration and its layers.
type manifest struct {
	SchemaVersion int               `json:"schemaVersion"`
	MediaType     string            `json:"mediaType"`
	Config        descriptor        `json:"config"`
	Layers        []descriptor      `json:"layers"`
	Annotations   map[string]string `json:"annotations,omitempty"`
}

// configuration is how an image is run, and what its layers are unpacked.
type configuration struct {
	Created      string      `json:"created"`
	Architecture string      `json:"architecture"`
	OS           string      `json:"os"`
	Config       imageConfig `json:"config"`
	RootFS       rootFS      `json:"rootfs"`
	History      []history   `json:"history"`
}

type rootFS struct {
	Type    string   `json:"type"`
	DiffIDs []string `json:"diff_ids"`
}

type history struct {
	Created   string `json:"created"`
	CreatedBy string `json:"created_by"`
}

// dockerManifest is manifest.json, by which docker load finds an image where it does
// not read OCI layouts yet.
type dockerManifest struct {
	Config   string
	RepoTags []string
	Layers   []string
}

// layout is an OCI image layout as it grows.
type layout struct{ blobs map[string][]byte }

// add takes a blob in and returns what points to it.
func (l *layout) add(mediaType string, content []byte) descriptor {
	digest := fmt.Sprintf("%x", sha256.Sum256(content))
	l.blobs["blobs/sha256/"+digest] = content
	return descriptor{MediaType: mediaType, Digest: "sha256:" + digest, Size: int64(len(content))}
}

// addJSON is add for a document.
func (l *layout) addJSON(mediaType string, document any) (descriptor, error) {
	content, err := json.Marshal(document)
	if err != nil {
		return descriptor{}, fmt.Errorf("write the image: %w", err)
	}
	return l.add(mediaType, content), nil
}

// blobPath is the place of a blob in a layout.
func blobPath(d descriptor) string { return "blobs/" + strings.Replace(d.Digest, ":", "/", 1) }

func imageName(t target, version string) string {
	return "flowrun-" + strings.TrimPrefix(version, "v") + "-" + t.os + "-" + t.arch + ".oci.tar"
}

// imageTag is the version as a tag may be written.
func imageTag(version string) string {
	return regexp.MustCompile(`[^A-Za-z0-9_.-]`).ReplaceAllString(strings.TrimPrefix(version, "v"), "-")
}

// image is the image that the Dockerfile describes, made without Docker: an OCI image
// layout in a tar, which `docker load` and `podman load` take.
func (m *maker) image(t target, p *parts) ([]byte, error) {
	text, err := os.ReadFile(filepath.Join(m.source, "Dockerfile"))
	if err != nil {
		return nil, fmt.Errorf("read the Dockerfile: %w", err)
	}
	made, err := readDockerfile(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	files, err := m.rootFiles(p)
	if err != nil {
		return nil, err
	}
	return writeImage(made, files, t, p.program.version, p.program.commit, m.commit)
}

// writeImage makes a layer of each COPY, and what describes them.
func writeImage(made *recipe, files []entry, t target, version, commit string, at time.Time) ([]byte, error) {
	l := &layout{map[string][]byte{}}
	created := at.UTC().Format(time.RFC3339)
	labels := map[string]string{
		"org.opencontainers.image.title": "flowrun", "org.opencontainers.image.version": version, "org.opencontainers.image.revision": commit,
		"org.opencontainers.image.created": created, "org.opencontainers.image.licenses": "Apache-2.0",
		"org.opencontainers.image.source": "https://github.com/flowrun/flowrun",
	}
	config := configuration{Created: created, Architecture: t.arch, OS: t.os, Config: made.config, RootFS: rootFS{Type: "layers"}}
	config.Config.Labels = labels
	m := manifest{SchemaVersion: 2, MediaType: typeManifest, Annotations: labels}
	docker := dockerManifest{RepoTags: []string{"flowrun:" + imageTag(version)}}
	for _, step := range made.layers {
		plain, packed, err := layer(step, files, at)
		if err != nil {
			return nil, err
		}
		d := l.add(typeLayer, packed)
		m.Layers, docker.Layers = append(m.Layers, d), append(docker.Layers, blobPath(d))
		config.RootFS.DiffIDs = append(config.RootFS.DiffIDs, fmt.Sprintf("sha256:%x", sha256.Sum256(plain)))
		config.History = append(config.History, history{created, "COPY /rootfs/" + step.from + "/ /" + step.to})
	}
	var err error
	if m.Config, err = l.addJSON(typeConfig, config); err != nil {
		return nil, err
	}
	docker.Config = blobPath(m.Config)
	top, err := l.addJSON(typeManifest, m)
	if err != nil {
		return nil, err
	}
	top.Platform = &platform{t.arch, t.os}
	top.Annotations = map[string]string{"org.opencontainers.image.ref.name": imageTag(version), "io.containerd.image.name": "docker.io/library/" + docker.RepoTags[0]}
	for name, document := range map[string]any{
		"oci-layout": map[string]string{"imageLayoutVersion": "1.0.0"}, "index.json": index{2, typeIndex, []descriptor{top}}, "manifest.json": []dockerManifest{docker},
	} {
		if l.blobs[name], err = json.Marshal(document); err != nil {
			return nil, fmt.Errorf("write the image: %w", err)
		}
	}
	return l.tar(at)
}

// layer makes a layer of the files below step.from, plain and packed.
func layer(step layerCopy, files []entry, at time.Time) (plain, packed []byte, err error) {
	var b, z bytes.Buffer
	w := tar.NewWriter(&b)
	found := 0
	for _, f := range files {
		name, ok := strings.CutPrefix(f.name, step.from+"/")
		if !ok {
			continue
		}
		if step.to != "" {
			name = step.to + "/" + name
		}
		head := tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: f.mode, Size: int64(len(f.content)), ModTime: at.UTC(), Uid: step.uid, Gid: step.gid, Format: tar.FormatPAX}
		if strings.HasSuffix(name, "/") {
			head.Typeflag = tar.TypeDir
		}
		if err := writeTar(w, head, f.content); err != nil {
			return nil, nil, err
		}
		found++
	}
	if err := w.Close(); err != nil {
		return nil, nil, fmt.Errorf("write a layer: %w", err)
	}
	if found == 0 {
		return nil, nil, fmt.Errorf("the Dockerfile copies /rootfs/%s/, and nothing is there", step.from)
	}
	packer, err := gzip.NewWriterLevel(&z, gzip.BestCompression)
	if err != nil {
		return nil, nil, fmt.Errorf("pack a layer: %w", err)
	}
	if _, err := packer.Write(b.Bytes()); err != nil {
		return nil, nil, fmt.Errorf("pack a layer: %w", err)
	}
	if err := packer.Close(); err != nil {
		return nil, nil, fmt.Errorf("pack a layer: %w", err)
	}
	return b.Bytes(), z.Bytes(), nil
}

// tar writes the layout as one file.
func (l *layout) tar(at time.Time) ([]byte, error) {
	var names []string
	for name := range l.blobs {
		names = append(names, name)
	}
	slices.SortFunc(names, cmp.Compare[string])
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, folder := range []string{"blobs/", "blobs/sha256/"} {
		if err := writeTar(w, tar.Header{Typeflag: tar.TypeDir, Name: folder, Mode: 0o755, ModTime: at.UTC(), Format: tar.FormatPAX}, nil); err != nil {
			return nil, err
		}
	}
	for _, name := range names {
		head := tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o644, Size: int64(len(l.blobs[name])), ModTime: at.UTC(), Format: tar.FormatPAX}
		if err := writeTar(w, head, l.blobs[name]); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("write the image: %w", err)
	}
	return b.Bytes(), nil
}

func writeTar(w *tar.Writer, head tar.Header, content []byte) error {
	if err := w.WriteHeader(&head); err != nil {
		return fmt.Errorf("write %s: %w", head.Name, err)
	}
	if _, err := w.Write(content); err != nil {
		return fmt.Errorf("write %s: %w", head.Name, err)
	}
	return nil
}

// makeImage writes the image for this machine's architecture alone.
func makeImage(ctx context.Context, source, dist string, out io.Writer) error {
	m, err := newMaker(ctx, source)
	if err != nil {
		return err
	}
	t := target{"linux", here().arch}
	p, err := m.partsOf(ctx, t)
	if err != nil {
		return err
	}
	image, err := m.image(t, p)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dist, 0o755); err != nil {
		return fmt.Errorf("make room for the image: %w", err)
	}
	name := imageName(t, p.program.version)
	if err := os.WriteFile(filepath.Join(dist, name), image, 0o644); err != nil {
		return fmt.Errorf("write the image: %w", err)
	}
	fmt.Fprintf(out, "%x  %s\n", sha256.Sum256(image), name)
	return nil
}

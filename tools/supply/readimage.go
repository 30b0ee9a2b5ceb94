package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// opened is an image that was read and found whole.
type opened struct {
	config configuration
	layers [][]byte // tar files
}

// openImage reads an OCI image layout in a tar, with one image. Each blob must be what
// its digest says, each layer what the configuration says, and no blob may be there for
// nothing.
func openImage(content []byte) (*opened, error) {
	blobs, err := filesOfTar(bytes.NewReader(content))
	if err != nil {
		return nil, fmt.Errorf("read the image: %w", err)
	}
	var (
		version struct{ ImageLayoutVersion string }
		top     index
		m       manifest
		image   opened
		docker  []dockerManifest
	)
	if err := errors.Join(fromJSON(blobs["oci-layout"], &version), fromJSON(blobs["index.json"], &top), fromJSON(blobs["manifest.json"], &docker)); err != nil {
		return nil, fmt.Errorf("read the image: %w", err)
	}
	if version.ImageLayoutVersion != "1.0.0" || len(top.Manifests) != 1 || len(docker) != 1 {
		return nil, errors.New("it is no layout with one image")
	}
	used := map[string]bool{"oci-layout": true, "index.json": true, "manifest.json": true}
	blob := func(d descriptor) ([]byte, error) {
		used[blobPath(d)] = true
		data, ok := blobs[blobPath(d)]
		if !ok || int64(len(data)) != d.Size || fmt.Sprintf("sha256:%x", sha256.Sum256(data)) != d.Digest {
			return nil, fmt.Errorf("the blob %s is not what its digest says", d.Digest)
		}
		return data, nil
	}
	if err := readBlob(blob, top.Manifests[0], &m); err != nil {
		return nil, err
	}
	if err := readBlob(blob, m.Config, &image.config); err != nil {
		return nil, err
	}
	if len(image.config.RootFS.DiffIDs) != len(m.Layers) || docker[0].Config != blobPath(m.Config) || len(docker[0].Layers) != len(m.Layers) {
		return nil, errors.New("configuration and manifest name other layers")
	}
	for i, d := range m.Layers {
		packed, err := blob(d)
		if err != nil {
			return nil, err
		}
		plain, err := unzip(packed)
		if err != nil {
			return nil, fmt.Errorf("unpack layer %d: %w", i+1, err)
		}
		if fmt.Sprintf("sha256:%x", sha256.Sum256(plain)) != image.config.RootFS.DiffIDs[i] || docker[0].Layers[i] != blobPath(d) {
			return nil, fmt.Errorf("layer %d is not the one of the configuration", i+1)
		}
		image.layers = append(image.layers, plain)
	}
	for _, name := range slices.Sorted(maps.Keys(blobs)) {
		if !used[name] {
			return nil, fmt.Errorf("%s belongs to nothing", name)
		}
	}
	return &image, nil
}

func readBlob(blob func(descriptor) ([]byte, error), d descriptor, into any) error {
	data, err := blob(d)
	if err != nil {
		return err
	}
	return fromJSON(data, into)
}

func fromJSON(data []byte, into any) error {
	if err := json.Unmarshal(data, into); err != nil {
		return fmt.Errorf("read a document of the image: %w", err)
	}
	return nil
}

func unzip(packed []byte) ([]byte, error) {
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(z)
}

// filesOfTar reads the files of a tar, by their names.
func filesOfTar(r io.Reader) (map[string][]byte, error) {
	files := map[string][]byte{}
	for archive := tar.NewReader(r); ; {
		head, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return files, nil
		} else if err != nil {
			return nil, err
		}
		if head.Typeflag == tar.TypeDir {
			continue
		}
		if files[strings.TrimPrefix(head.Name, "./")], err = io.ReadAll(archive); err != nil {
			return nil, err
		}
	}
}

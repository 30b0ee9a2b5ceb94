package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"time"
)

// entry is a file of an archive.
type entry struct {
	name    string
	mode    int64
	content []byte
}

// pack makes a tar.gz of one folder. Nothing of the machine is in it: no owner,
// and for all files the one time.
func pack(folder string, at time.Time, files []entry) ([]byte, error) {
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, fmt.Errorf("pack %s: %w", folder, err)
	}
	w := tar.NewWriter(z)
	for _, f := range files {
		head := tar.Header{Typeflag: tar.TypeReg, Name: folder + "/" + f.name, Mode: f.mode, Size: int64(len(f.content)), ModTime: at.UTC(), Format: tar.FormatPAX}
		if err := w.WriteHeader(&head); err != nil {
			return nil, fmt.Errorf("pack %s: %w", folder, err)
		}
		if _, err := w.Write(f.content); err != nil {
			return nil, fmt.Errorf("pack %s: %w", folder, err)
		}
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("pack %s: %w", folder, err)
	}
	if err := z.Close(); err != nil {
		return nil, fmt.Errorf("pack %s: %w", folder, err)
	}
	return b.Bytes(), nil
}

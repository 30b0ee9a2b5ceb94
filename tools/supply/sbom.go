package main

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/CycloneDX/cyclonedx-go"
)

// writeBOM writes what is in a program as CycloneDX 1.6 in JSON. The same
// program gives the same bytes: the time is that of the commit, the serial number
// comes from the program's digest.
func writeBOM(w io.Writer, t target, version string, commit time.Time, digest [sha256.Size]byte, all []terms) error {
	bom := cyclonedx.NewBOM()
	bom.SerialNumber = "urn:uuid:" + uuidOf(digest)
	self := cyclonedx.Component{
		BOMRef: purl("github.com/flowrun/flowrun", version), Type: cyclonedx.ComponentTypeApplication,
		Name: "flowrun", Version: version, PackageURL: purl("github.com/flowrun/flowrun", version),
		Licenses: &cyclonedx.Licenses{{License: &cyclonedx.License{ID: "Apache-2.0"}}},
		Hashes:   &[]cyclonedx.Hash{{Algorithm: cyclonedx.HashAlgoSHA256, Value: hex.EncodeToString(digest[:])}},
		Properties: &[]cyclonedx.Property{
			{Name: "flowrun:os", Value: t.os}, {Name: "flowrun:architecture", Value: t.arch},
		},
	}
	bom.Metadata = &cyclonedx.Metadata{Timestamp: commit.UTC().Format(time.RFC3339), Component: &self}
	var components []cyclonedx.Component
	var refs []string
	for _, x := range all {
		component, err := componentOf(x)
		if err != nil {
			return err
		}
		components, refs = append(components, component), append(refs, component.BOMRef)
	}
	bom.Components = &components
	bom.Dependencies = &[]cyclonedx.Dependency{{Ref: self.BOMRef, Dependencies: &refs}}
	encoder := cyclonedx.NewBOMEncoder(w, cyclonedx.BOMFileFormatJSON).SetPretty(true)
	if err := encoder.EncodeVersion(bom, cyclonedx.SpecVersion1_6); err != nil {
		return fmt.Errorf("write the list of modules: %w", err)
	}
	return nil
}

// componentOf is a module as a component. Its hash is that of go.sum, which
// covers all its files.
func componentOf(x terms) (cyclonedx.Component, error) {
	ref := purl(x.module.Path, x.module.Version)
	c := cyclonedx.Component{
		BOMRef: ref, Type: cyclonedx.ComponentTypeLibrary, Name: x.module.Path, Version: x.module.Version, PackageURL: ref,
		Scope: cyclonedx.ScopeRequired,
	}
	licences := cyclonedx.Licenses{}
	for _, name := range x.names {
		licences = append(licences, cyclonedx.LicenseChoice{License: &cyclonedx.License{ID: name}})
	}
	c.Licenses = &licences
	if x.module.Path == standard {
		return c, nil
	}
	sum, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(x.module.Sum, "h1:"))
	if err != nil || len(sum) != sha256.Size {
		return c, fmt.Errorf("%s %s has the sum %q, which is no SHA-256 of go.sum", x.module.Path, x.module.Version, x.module.Sum)
	}
	c.Hashes = &[]cyclonedx.Hash{{Algorithm: cyclonedx.HashAlgoSHA256, Value: hex.EncodeToString(sum)}}
	if x.module.patched {
		c.Pedigree = &cyclonedx.Pedigree{Notes: "With a patch that stands in third_party/patches of flowrun; the hash is that of what was patched."}
	}
	return c, nil
}

func purl(path, version string) string {
	return "pkg:golang/" + path + "@" + strings.ReplaceAll(version, "+", "%2B")
}

// uuidOf is a UUID of version 8 (RFC 9562): free bits, here those of a digest.
func uuidOf(digest [sha256.Size]byte) string {
	b := digest[:16]
	b[6], b[8] = b[6]&0x0f|0x80, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:16])
}

package main

import (
	"archive/tar"
	"bytes"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// recipeOfRepository reads the Dockerfile that users have.
func recipeOfRepository(t *testing.T) *recipe {
	t.Helper()
	text, err := os.ReadFile("../../Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	made, err := readDockerfile(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// imageOf makes the image of the repository with any program in it.
func imageOf(t *testing.T, program []byte) []byte {
	t.Helper()
	m := &maker{source: "../..", roots: authorities()}
	files, err := m.rootFiles(&parts{program: &built{content: program}, bom: []byte("{}"), notices: []byte("terms")})
	if err != nil {
		t.Fatal(err)
	}
	image, err := writeImage(recipeOfRepository(t), files, target{"linux", "amd64"}, "v1.2.3+dirty", "c0ffee", time.Unix(1000, 0))
	if err != nil {
		t.Fatal(err)
	}
	return image
}

// TestIssue15_TheImageIsWhole: what its digests say, the same twice, with the
// configuration of the Dockerfile.
func TestIssue15_TheImageIsWhole(t *testing.T) {
	content := imageOf(t, []byte("program"))
	if !bytes.Equal(content, imageOf(t, []byte("program"))) {
		t.Error("two images of the same files differ")
	}
	image, err := openImage(content)
	if err != nil {
		t.Fatal(err)
	}
	c := image.config.Config
	volumes, err := json.Marshal(c.Volumes)
	if err != nil {
		t.Fatal(err)
	}
	if c.User != "65532:65532" || string(volumes) != `{"/var/lib/flowrun":{}}` || strings.Join(append(c.Entrypoint, c.Cmd...), " ") != "/usr/local/bin/flowrun serve" ||
		c.WorkingDir != "/project" || c.StopSignal != "SIGTERM" {
		t.Errorf("the image is run as %+v", c)
	}
	if h := c.Healthcheck; h == nil || strings.Join(h.Test, " ") != "CMD /usr/local/bin/flowrun ready" || h.Interval != 30*time.Second || h.Retries != 3 {
		t.Errorf("its health is asked by %+v", h)
	}
	for _, name := range []string{"HOME=/var/lib/flowrun", "TMPDIR=/var/lib/flowrun", "FLOWRUN_STATE=/var/lib/flowrun/state"} {
		if !slices.Contains(c.Env, name) {
			t.Errorf("the environment %v lacks %s", c.Env, name)
		}
	}
	if c.Labels["org.opencontainers.image.revision"] != "c0ffee" || !bytes.Contains(content, []byte(`"flowrun:1.2.3-dirty"`)) {
		t.Errorf("it is called %v", c.Labels)
	}
	checkOwners(t, image)
}

// checkOwners: all is root's but the folder of the state, and nothing else is there.
func checkOwners(t *testing.T, image *opened) {
	t.Helper()
	seen := map[string]*tar.Header{}
	for _, layer := range image.layers {
		for r := tar.NewReader(bytes.NewReader(layer)); ; {
			head, err := r.Next()
			if errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatal(err)
			}
			seen[head.Name] = head
			if isState := head.Name == "var/lib/flowrun/"; head.Uid != map[bool]int{true: 65532}[isState] || head.ModTime.Unix() != 1000 {
				t.Errorf("%s has the head %+v", head.Name, head)
			}
		}
	}
	if state := seen["var/lib/flowrun/"]; state == nil || state.Mode != 0o700 {
		t.Errorf("the folder of the state is %+v", state)
	}
	if program := seen["usr/local/bin/flowrun"]; program == nil || program.Mode != 0o755 {
		t.Errorf("the program is %+v", program)
	}
}

// TestIssue15_ADamagedImageIsRefused: each byte of a blob counts.
func TestIssue15_ADamagedImageIsRefused(t *testing.T) {
	content := imageOf(t, []byte("program"))
	blobs, err := filesOfTar(bytes.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	for name, blob := range blobs {
		if !strings.HasPrefix(name, "blobs/") {
			continue
		}
		at := bytes.Index(content, blob)
		for _, offset := range []int{0, len(blob) / 2, len(blob) - 1} {
			changed := bytes.Clone(content)
			changed[at+offset] ^= 1
			if _, err := openImage(changed); err == nil {
				t.Errorf("%s with byte %d changed is taken", name, offset)
			}
		}
	}
	l := &layout{blobs}
	l.add(typeLayer, []byte("nobody's"))
	more, err := l.tar(time.Unix(1000, 0))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := openImage(more); err == nil || !strings.Contains(err.Error(), "belongs to nothing") {
		t.Errorf("a blob too many: %v", err)
	}
}

// TestIssue15_AStepThatIsNotKnownIsNotPassedOver: the image is that of the Dockerfile or
// none.
func TestIssue15_AStepThatIsNotKnownIsNotPassedOver(t *testing.T) {
	text, err := os.ReadFile("../../Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	for step, want := range map[string]string{
		"RUN true":                               "RUN: `make image` does not know this step",
		"ADD a b":                                "ADD: `make image` does not know this step",
		"COPY a b":                               "it takes --from=build",
		"COPY --from=build --chmod=1 /rootfs/ b": "does not know --chmod",
		"COPY --from=build --chown=me /rootfs/system/ /": "--chown takes two numbers",
		"VOLUME /data":               "it takes a JSON list",
		"ENV A":                      "sets nothing",
		"HEALTHCHECK NONE":           "it takes CMD",
		"HEALTHCHECK --often CMD []": "does not know it",
		"FROM debian":                "does not end with a stage of scratch",
	} {
		if _, err := readDockerfile(strings.NewReader(string(text) + step + "\n")); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", step, err, want)
		}
	}
	if _, _, err := layer(layerCopy{from: "nothing"}, nil, time.Unix(0, 0)); err == nil {
		t.Error("a layer of nothing is made")
	}
}

// TestIssue15_TheAuthoritiesAreCertificates that a program can read.
func TestIssue15_TheAuthoritiesAreCertificates(t *testing.T) {
	count := 0
	for rest := authorities(); ; count++ {
		block, more := pem.Decode(rest)
		if block == nil {
			break
		}
		if c, err := x509.ParseCertificate(block.Bytes); err != nil || !c.IsCA {
			t.Fatalf("certificate %d: %v", count+1, err)
		}
		rest = more
	}
	if count < 100 {
		t.Errorf("%d authorities only", count)
	}
}

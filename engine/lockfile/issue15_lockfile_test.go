package lockfile_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/flowrun/flowrun/engine/lockfile"
)

const digest = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

func words() lockfile.Plugin {
	return lockfile.Plugin{
		Name: "words", Version: "1.0.0", Source: "./words", Digests: map[string]string{"linux/arm64": digest, "linux/amd64": digest}, Describe: digest,
		Wants: lockfile.Grants{Env: []string{"B", "A", "A"}}, Grants: lockfile.Grants{Env: []string{"A"}},
	}
}

// TestIssue15_TheLockIsTheSameForTheSame: order of what went in does not show.
func TestIssue15_TheLockIsTheSameForTheSame(t *testing.T) {
	t.Parallel()
	netinfo := lockfile.Plugin{Name: "netinfo", Version: "1.0.0", Source: lockfile.Bundled, Describe: digest}
	one, err := lockfile.File{}.With(words()).With(netinfo).Encode()
	if err != nil {
		t.Fatal(err)
	}
	other, err := lockfile.File{}.With(netinfo).With(words()).With(netinfo).Encode()
	if err != nil || !bytes.Equal(one, other) {
		t.Errorf("%v\n%s\n%s", err, one, other)
	}
	read, err := lockfile.Decode(one)
	if err != nil {
		t.Fatal(err)
	}
	again, err := read.Encode()
	if err != nil || !bytes.Equal(one, again) {
		t.Errorf("read and written it is other: %v\n%s", err, again)
	}
	entry, ok := read.Plugin("words")
	if !ok || entry.Digest("linux/amd64") != digest[7:] || entry.Digest("darwin/arm64") != "" || !entry.Wants.Equal(lockfile.Grants{Env: []string{"A", "B"}}) {
		t.Errorf("read: %+v", entry)
	}
}

// TestIssue15_ADamagedLockIsRefused: nothing of it is guessed.
func TestIssue15_ADamagedLockIsRefused(t *testing.T) {
	t.Parallel()
	whole, err := lockfile.File{}.With(words()).Encode()
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"empty": "", "a merge": "<<<<<<< HEAD\n" + string(whole), "half": string(whole[:len(whole)/2]), "two": string(whole) + string(whole),
		"an unknown word":   strings.Replace(string(whole), `"describe"`, `"describes"`, 1),
		"no digest":         strings.ReplaceAll(string(whole), digest, "sha256:0"),
		"a newer format":    strings.Replace(string(whole), `"format": 1`, `"format": 2`, 1),
		"none that may run": strings.Replace(string(whole), `"source": "./words",`, `"source": "./words", "digests": {}, "x": 1,`, 1),
	} {
		if _, err := lockfile.Decode([]byte(text)); err == nil {
			t.Errorf("%s: it was taken", name)
		}
	}
}

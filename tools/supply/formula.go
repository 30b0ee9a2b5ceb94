package main

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// formulaFile is the formula of Homebrew in a release.
const formulaFile = "flowrun.rb"

// downloads is where the files of a release are published.
const downloads = "https://github.com/flowrun/flowrun/releases/download/"

// brewed are the systems and processors as Homebrew names them.
func brewed() map[target][2]string {
	return map[target][2]string{
		{"darwin", "arm64"}: {"macos", "arm"}, {"darwin", "amd64"}: {"macos", "intel"},
		{"linux", "arm64"}: {"linux", "arm"}, {"linux", "amd64"}: {"linux", "intel"},
	}
}

// formula is what `brew install` reads: the archives of a release with their sums.
func formula(version string, sums map[string][sha256.Size]byte) string {
	plain := strings.TrimPrefix(version, "v")
	var b strings.Builder
	fmt.Fprintf(&b, `class Flowrun < Formula
  desc "Runs YAML workflows durably, with services as plugins"
  homepage "https://github.com/flowrun/flowrun"
  version "%s"
  license "Apache-2.0"
`, plain)
	for _, system := range []string{"darwin", "linux"} {
		var parts strings.Builder
		for _, arch := range []string{"arm64", "amd64"} {
			t := target{system, arch}
			name := "flowrun_" + plain + "_" + t.String() + ".tar.gz"
			if sum, ok := sums[name]; ok {
				fmt.Fprintf(&parts, "    on_%s do\n      url \"%s%s/%s\"\n      sha256 \"%x\"\n    end\n", brewed()[t][1], downloads, version, name, sum)
			}
		}
		if parts.Len() > 0 {
			fmt.Fprintf(&b, "\n  on_%s do\n%s  end\n", brewed()[target{system, "arm64"}][0], parts.String())
		}
	}
	b.WriteString(`
  def install
    bin.install "flowrun"
    man1.install Dir["man/man1/*.1"]
    bash_completion.install "completions/flowrun.bash" => "flowrun"
    zsh_completion.install "completions/_flowrun"
    fish_completion.install "completions/flowrun.fish"
  end

  test do
    assert_match "flowrun v#{version}", shell_output("#{bin}/flowrun version")
    system bin/"flowrun", "init", "--template", "approval"
    system bin/"flowrun", "test"
  end
end
`)
	return b.String()
}

// What a formula says of an archive.
var formulaArchive = regexp.MustCompile(`\n +url "([^"\n]+)"\n +sha256 "([0-9a-f]{64})"\n`)

// Lines of Ruby that begin what an `end` closes.
var (
	rubyOpens = regexp.MustCompile(`^(class|def|if|unless|module|begin)\b|\bdo$`)
	rubyName  = regexp.MustCompile(`^class Flowrun < Formula$`)
)

// checkFormula reads a formula as far as that goes without Ruby: blocks that begin and end,
// quotes in pairs, and each archive of the release with its sum.
func checkFormula(text string, sums map[string]string) error {
	depth := 0
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		switch {
		case line == "end":
			depth--
		case rubyOpens.MatchString(line):
			if depth == 0 && !rubyName.MatchString(line) {
				return fmt.Errorf("it begins with %q", line)
			}
			depth++
		case line != "" && depth == 0:
			return fmt.Errorf("%q stands outside of its class", line)
		}
		if depth < 0 || strings.Count(line, `"`)%2 == 1 {
			return fmt.Errorf("%q does not close what it opens", line)
		}
	}
	if depth != 0 {
		return errors.New("a block has no end")
	}
	var named []string
	for _, match := range formulaArchive.FindAllStringSubmatch(text, -1) {
		name := match[1][strings.LastIndex(match[1], "/")+1:]
		if !strings.HasPrefix(match[1], downloads) || sums[name] != match[2] {
			return fmt.Errorf("it names %s with the sum %s, the release has %q", match[1], match[2], sums[name])
		}
		named = append(named, name)
	}
	for name := range sums {
		if strings.HasSuffix(name, ".tar.gz") && !slices.Contains(named, name) {
			return fmt.Errorf("it does not name %s", name)
		}
	}
	if len(named) == 0 {
		return errors.New("it names no archive")
	}
	return nil
}

package main

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// check looks at a release as its users do: the sums are those of the files, the
// signature is that of the key, images are whole, and the program of this machine's
// system does its first steps in an empty folder.
func check(ctx context.Context, dist string, public ed25519.PublicKey, out io.Writer) error {
	sums, err := os.ReadFile(filepath.Join(dist, sumsFile))
	if err != nil {
		return fmt.Errorf("read the sums: %w", err)
	}
	signed, err := os.ReadFile(filepath.Join(dist, sigFile))
	isSigned := err == nil
	switch {
	case isSigned && public == nil:
		return fmt.Errorf("there is a signature, and no key to verify it by: name one with --public FILE, or take %s from a clone of the repository", publicKeyFile)
	case isSigned:
		if err := verifySignature(public, sums, signed); err != nil {
			return err
		}
		fmt.Fprintf(out, "signed by key %s\n", keyID(public))
	case public != nil:
		return errors.New("the release is not signed")
	}
	files, err := checkSums(dist, sums)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%d files have their sums\n", len(files))
	if err := checkInstallers(dist, files, sums); err != nil {
		return err
	}
	isTried := false
	for _, name := range files {
		content, err := os.ReadFile(filepath.Join(dist, name))
		if err != nil {
			return fmt.Errorf("read the release: %w", err)
		}
		switch {
		case strings.HasSuffix(name, ".oci.tar"):
			if _, err := openImage(content); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		case strings.HasSuffix(name, "_"+here().String()+".tar.gz"):
			if err := tryArchive(ctx, strings.TrimSuffix(name, ".tar.gz"), content, out); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			isTried = true
		}
	}
	if !isTried {
		fmt.Fprintf(out, "there is no archive for %s: nothing was tried\n", here())
	}
	return nil
}

// checkInstallers reads the packages of Debian and the formula of Homebrew.
func checkInstallers(dist string, files []string, sums []byte) error {
	bySum := map[string]string{}
	for line := range strings.Lines(string(sums)) {
		sum, name, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "  ")
		bySum[name] = sum
	}
	for _, name := range files {
		if name != formulaFile && !strings.HasSuffix(name, ".deb") {
			continue
		}
		content, err := os.ReadFile(filepath.Join(dist, name))
		if err != nil {
			return fmt.Errorf("read the release: %w", err)
		}
		if name == formulaFile {
			err = checkFormula(string(content), bySum)
		} else {
			_, err = openDeb(content)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// checkSums compares each file with its line, and returns their names. A file without a
// line is an error.
func checkSums(dist string, sums []byte) ([]string, error) {
	var files []string
	for line := range strings.Lines(string(sums)) {
		sum, name, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "  ")
		if !ok || filepath.Base(name) != name {
			return nil, fmt.Errorf("%s has the line %q", sumsFile, line)
		}
		content, err := os.ReadFile(filepath.Join(dist, name))
		if err != nil {
			return nil, fmt.Errorf("read the release: %w", err)
		}
		if got := fmt.Sprintf("%x", sha256.Sum256(content)); got != sum {
			return nil, fmt.Errorf("%s has the sum %s, not %s", name, got, sum)
		}
		files = append(files, name)
	}
	there, err := os.ReadDir(dist)
	if err != nil {
		return nil, fmt.Errorf("list the release: %w", err)
	}
	for _, file := range there {
		if name := file.Name(); name != sumsFile && name != sigFile && !slices.Contains(files, name) {
			return nil, fmt.Errorf("%s has no line in %s", name, sumsFile)
		}
	}
	return files, nil
}

// tryArchive unpacks an archive for this machine's system and does what a new user does.
func tryArchive(ctx context.Context, folder string, archive []byte, out io.Writer) error {
	plain, err := unzip(archive)
	if err != nil {
		return fmt.Errorf("unpack: %w", err)
	}
	files, err := filesOfTar(bytes.NewReader(plain))
	if err != nil {
		return fmt.Errorf("unpack: %w", err)
	}
	for _, shell := range shells() {
		if name := folder + "/completions/" + shell; len(files[name]) == 0 {
			return fmt.Errorf("%s is missing", name)
		}
	}
	if len(files[folder+"/man/man1/flowrun.1"]) == 0 {
		return errors.New("the manual page is missing")
	}
	content := files[folder+"/flowrun"]
	made, err := stampedInto(content)
	if err != nil {
		return err
	}
	if err := checkProgram(here(), content); err != nil {
		return err
	}
	return firstSteps(ctx, made, out)
}

// firstSteps runs the program in an empty folder, with nothing of this machine's
// environment: version, init, and the workflow that init made.
func firstSteps(ctx context.Context, made *built, out io.Writer) error {
	dir, err := os.MkdirTemp("", "flowrun-try-")
	if err != nil {
		return fmt.Errorf("make an empty folder: %w", err)
	}
	defer os.RemoveAll(dir)
	program, empty := filepath.Join(dir, "flowrun"), filepath.Join(dir, "empty")
	if err := errors.Join(os.WriteFile(program, made.content, 0o700), os.Mkdir(empty, 0o700)); err != nil {
		return fmt.Errorf("unpack the program: %w", err)
	}
	for _, step := range []struct {
		args []string
		says string
	}{
		{[]string{"version"}, "flowrun " + made.version + " (commit " + made.commit},
		{[]string{"init"}, "created  workflows/hello.yaml"},
		{[]string{"run", "--sandbox", "workflows/hello.yaml"}, "hello: succeeded"},
		{[]string{"test"}, " passed"},
	} {
		command := exec.CommandContext(ctx, program, step.args...)
		command.Dir, command.Env = empty, []string{"HOME=" + dir, "PATH=/nowhere"}
		output, err := command.CombinedOutput()
		if err != nil {
			return fmt.Errorf("flowrun %s in an empty folder: %w\n%s", strings.Join(step.args, " "), err, output)
		}
		if !strings.Contains(string(output), step.says) {
			return fmt.Errorf("flowrun %s in an empty folder does not say %q:\n%s", strings.Join(step.args, " "), step.says, output)
		}
	}
	fmt.Fprintf(out, "flowrun %s: %d bytes; version, init, run and test do in an empty folder\n", made.version, len(made.content))
	return nil
}

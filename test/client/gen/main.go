// Command gen writes the client from docs/openapi.json. With a path it writes it
// there, for the test that compares.
package main

import (
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/flowrun/flowrun/test/client/downgrade"
)

func main() {
	target := filepath.Join("api", "client.gen.go")
	if len(os.Args) > 1 {
		target = os.Args[1]
	}
	if err := generate(filepath.Join("..", "..", "docs", "openapi.json"), target); err != nil {
		log.Fatalln("gen:", err)
	}
}

func generate(source, target string) error {
	document, err := os.ReadFile(source)
	if err != nil {
		return err
	}
	older, err := downgrade.Document(document)
	if err != nil {
		return err
	}
	folder, err := os.MkdirTemp("", "flowrun-client-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	file := filepath.Join(folder, "openapi.json")
	if err := os.WriteFile(file, older, 0o600); err != nil {
		return err
	}
	command := exec.Command("go", "tool", "oapi-codegen", "-generate", "types,client", "-package", "api", "-o", target, file)
	if out, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("oapi-codegen: %w\n%s", err, out)
	}
	return nil
}

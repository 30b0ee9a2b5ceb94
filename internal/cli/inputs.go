package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/flowrun/flowrun/engine"
	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/workspace"
)

// maxInputFile is the hard limit of a file of inputs in bytes.
const maxInputFile = 8 << 20

// inputFlags are the flags that give a run its inputs.
type inputFlags struct {
	inputs     []string
	inputsFile string
}

// add adds the flags: -i gives one, --inputs a file with several.
func (f *inputFlags) add(c *cobra.Command, one, several string) {
	c.Flags().StringArrayVarP(&f.inputs, "input", "i", nil, one+" NAME=VALUE, NAME:=JSON or NAME=@FILE with JSON; @@ is a literal @ (repeatable)")
	c.Flags().StringVar(&f.inputsFile, "inputs", "", several+" from a JSON or YAML file")
}

// inputExample shows how -i is written.
const inputExample = "such as -i site=A, -i rows:='[1, 2]' or -i rows=@rows.json"

// readInputs joins the inputs of --inputs FILE and -i; -i wins.
func (a *app) readInputs(given []string, file string) (map[string]workspace.Input, error) {
	inputs := map[string]workspace.Input{}
	if file != "" {
		data, err := a.readInputFile("--inputs", file)
		if err != nil {
			return nil, err
		}
		read, problems := workspace.ReadInputs(file, data)
		if problems.HasErrors() {
			a.printProblemsOf(problems, map[string][]byte{file: data})
			return nil, exitWith(exitUsage)
		}
		maps.Copy(inputs, read)
	}
	flags, err := a.parseAssignments("-i", given, inputExample)
	if err != nil {
		return nil, err
	}
	maps.Copy(inputs, flags)
	return inputs, nil
}

// parseAssignments reads what is given by a flag that is repeated, each name once.
func (a *app) parseAssignments(flag string, texts []string, example string) (map[string]workspace.Input, error) {
	inputs := map[string]workspace.Input{}
	for _, text := range texts {
		name, input, err := a.parseAssignment(flag, text, example)
		if err != nil {
			return nil, err
		}
		if _, twice := inputs[name]; twice {
			return nil, usageError(fmt.Errorf("%s %s is given twice", flag, name), "")
		}
		inputs[name] = input
	}
	return inputs, nil
}

// parseAssignment reads NAME=VALUE, NAME:=JSON or NAME=@FILE of a flag. A text that
// begins with @ is written @@.
func (a *app) parseAssignment(flag, text, example string) (string, workspace.Input, error) {
	name, value, ok := strings.Cut(text, "=")
	plain, isJSON := strings.CutSuffix(name, ":")
	if !ok || plain == "" {
		return "", workspace.Input{}, usageError(fmt.Errorf("%s %s is not NAME=VALUE", flag, diag.ShellWord(text)), example)
	}
	if isJSON {
		if why := engine.WhyNoJSON([]byte(value)); why != "" {
			return "", workspace.Input{}, usageError(fmt.Errorf("%s %s:=… does not hold one JSON value: %s", flag, plain, why),
				fmt.Sprintf(`text needs its quotes there: %s %s:='"text"'; %s %s=text takes it as it is`, flag, plain, flag, plain))
		}
		return plain, workspace.Input{JSON: json.RawMessage(value)}, nil
	}
	if literal, escaped := strings.CutPrefix(value, "@@"); escaped {
		return name, workspace.Input{Text: "@" + literal}, nil
	}
	file, isFile := strings.CutPrefix(value, "@")
	if !isFile {
		return name, workspace.Input{Text: value}, nil
	}
	data, err := a.readInputFile(flag+" "+name, file)
	var coded *codedError
	switch {
	case errors.As(err, &coded) && coded.hint == "":
		return "", workspace.Input{}, usageError(coded.err, "a text that begins with @ is written @"+value)
	case err != nil:
		return "", workspace.Input{}, err
	}
	if why := engine.WhyNoJSON(data); why != "" {
		return "", workspace.Input{}, usageError(fmt.Errorf("%s %s: %s does not hold one JSON value: %s", flag, name, safePath(file), why), "")
	}
	return name, workspace.Input{JSON: data}, nil
}

// readInputFile reads a file that a flag names; "-" is stdin.
func (a *app) readInputFile(flag, file string) ([]byte, error) {
	reader := a.sys.Stdin
	if file == "-" && a.stdinIsWorkflow {
		return nil, usageError(fmt.Errorf("%s: stdin is the workflow already", flag), "name a file for one of the two")
	}
	if file != "-" {
		opened, err := os.Open(a.abs(file))
		if err != nil {
			return nil, usageError(fmt.Errorf("%s: %s can't be read: %w", flag, safePath(file), withoutPath(err)), "")
		}
		defer opened.Close()
		reader = opened
	}
	data, err := io.ReadAll(io.LimitReader(reader, maxInputFile+1))
	if err != nil {
		return nil, usageError(fmt.Errorf("%s: %s can't be read: %w", flag, safePath(file), withoutPath(err)), "")
	}
	if len(data) > maxInputFile {
		return nil, usageError(fmt.Errorf("%s: %s is larger than %d bytes", flag, safePath(file), maxInputFile), "")
	}
	return data, nil
}

// withoutPath is what the system says of a file, where the message names the file
// already.
func withoutPath(err error) error {
	if pathError, ok := errors.AsType[*os.PathError](err); ok {
		return pathError.Err
	}
	return err
}

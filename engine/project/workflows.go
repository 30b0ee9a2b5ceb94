package project

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// WorkflowFiles returns the workflow files of the project below root, sorted:
// what `workflows` names, folders with all their *.yaml and *.yml files that
// are neither tests nor project files, are not told to a plugin and do not lie in a hidden folder. Without `workflows` the folder
// "workflows" is read when it is there.
func (p *Project) WorkflowFiles(root fs.FS) ([]string, error) {
	named, optional := p.Workflows, false
	if len(named) == 0 {
		named, optional = []string{"workflows"}, true
	}
	var files []string
	told := p.ToldFiles()
	for _, name := range named {
		name = path.Clean(name)
		err := fs.WalkDir(root, name, func(file string, entry fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			switch {
			case entry.IsDir() && file != name && strings.HasPrefix(entry.Name(), "."):
				return fs.SkipDir
			case !entry.IsDir() && (file == name || isWorkflow(file) && !slices.Contains(told, file)):
				files = append(files, file)
			}
			return nil
		})
		if optional && errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			if failed, ok := errors.AsType[*fs.PathError](err); ok {
				err = failed.Err
			}
			return nil, fmt.Errorf("look for workflows in %s: %w", name, err)
		}
	}
	slices.Sort(files)
	return slices.Compact(files), nil
}

func isWorkflow(file string) bool {
	if strings.HasSuffix(file, ".test.yaml") || strings.HasSuffix(file, ".test.yml") {
		return false
	}
	if path.Base(file) == FileName {
		return false
	}
	extension := path.Ext(file)
	return extension == ".yaml" || extension == ".yml"
}

package project

import (
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

func TestWorkflowFiles(t *testing.T) {
	root := fstest.MapFS{}
	for _, name := range []string{
		"flowrun.yaml", "one.yaml", "workflows/b.yml", "workflows/a.yaml", "workflows/a.test.yaml", "workflows/notes.md",
		"workflows/lib/deep.yaml", "workflows/.old/gone.yaml", ".flowrun/state/x.yaml", "odd/name.txt",
	} {
		root[name] = &fstest.MapFile{}
	}
	for name, c := range map[string]struct{ named, want []string }{
		"by default":         {nil, []string{"workflows/a.yaml", "workflows/b.yml", "workflows/lib/deep.yaml"}},
		"the whole project":  {[]string{"."}, []string{"one.yaml", "workflows/a.yaml", "workflows/b.yml", "workflows/lib/deep.yaml"}},
		"a file by its name": {[]string{"odd/name.txt", "workflows/lib"}, []string{"odd/name.txt", "workflows/lib/deep.yaml"}},
		"named twice":        {[]string{"one.yaml", "./one.yaml"}, []string{"one.yaml"}},
	} {
		t.Run(name, func(t *testing.T) {
			files, err := (&Project{Workflows: c.named}).WorkflowFiles(root)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, files); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
	told, problems := Parse(FileName, []byte("workflows: [.]\nplugins: {crm: {source: 'bundled:openapi', with: {document: ./workflows/b.yml, more: [{overlay: one.yaml}]}}}\n"))
	if files, err := told.WorkflowFiles(root); err != nil || problems.HasErrors() || !cmp.Equal(files, []string{"workflows/a.yaml", "workflows/lib/deep.yaml"}) {
		t.Errorf("documents that plugins are told are no workflows: %v, %v, %v", files, err, problems)
	}
	if files, err := (&Project{}).WorkflowFiles(fstest.MapFS{}); err != nil || len(files) != 0 {
		t.Errorf("without the folder: %v, %v", files, err)
	}
	if _, err := (&Project{Workflows: []string{"none"}}).WorkflowFiles(root); err == nil {
		t.Error("a folder that is named and not there is an error")
	}
}

package pluginv1_test

import (
	"flag"
	"os"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"

	pluginv1 "github.com/flowrun/flowrun/sdk/proto/pluginv1"
)

// The generator rewrites plugin.binpb with every change, so that alone it
// guards nothing. baseline.binpb is written only by this flag, and only when
// the change is additive.
var update = flag.Bool("update", false, "accept an additive change of plugin.proto as the new baseline")

const (
	committedFile = "plugin.binpb"
	baselineFile  = "baseline.binpb"
	firstFile     = "first.binpb" // the first one that was committed; nothing writes it
)

// released says that there is a released v1: then the names of enum values are as
// fixed as their numbers (ADR 45).
const released = false

func TestCommittedDescriptorIsFresh(t *testing.T) {
	committed := readDescriptor(t, committedFile)
	if changes := compare(committed, pluginv1.File_flowrun_plugin_v1_plugin_proto); len(changes.all()) > 0 {
		t.Errorf("%s is not what the code was generated from:\n%s", committedFile, strings.Join(changes.all(), "\n"))
	}
}

func TestNoBreakingChange(t *testing.T) {
	current := pluginv1.File_flowrun_plugin_v1_plugin_proto
	changes := compare(readDescriptor(t, baselineFile), current)
	if found := changes.refused(released); len(found) > 0 {
		t.Fatalf("plugin.proto breaks plugins that are built already; inside v1 only additions are allowed:\n%s", strings.Join(found, "\n"))
	}
	if len(changes.all()) == 0 {
		return
	}
	if !*update {
		t.Fatalf("plugin.proto has changes that the baseline does not know; run this test with -update:\n%s", strings.Join(changes.all(), "\n"))
	}
	set := &descriptorpb.FileDescriptorSet{File: []*descriptorpb.FileDescriptorProto{protodesc.ToFileDescriptorProto(current)}}
	encoded, err := proto.MarshalOptions{Deterministic: true}.Marshal(set)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(baselineFile, encoded, 0o644); err != nil {
		t.Fatal(err)
	}
}

// What was built from the first descriptor works on: every number and type of it is
// there. Its enum values had other names, which nothing on the wire shows.
func TestIssue15_WireNothingOfTheFirstDescriptorIsGone(t *testing.T) {
	changes := compare(readDescriptor(t, firstFile), pluginv1.File_flowrun_plugin_v1_plugin_proto)
	if len(changes.breaking) > 0 {
		t.Errorf("plugins that were built from the first descriptor break:\n%s", strings.Join(changes.breaking, "\n"))
	}
	if len(changes.renamed) == 0 || len(changes.added) == 0 {
		t.Errorf("the first descriptor is not the first: %d names and %d additions since", len(changes.renamed), len(changes.added))
	}
}

// Each made change must be found: a guard that refuses nothing would pass too.
func TestComparisonFindsBreakingChanges(t *testing.T) {
	message := func(f *descriptorpb.FileDescriptorProto, name string) *descriptorpb.DescriptorProto {
		i := slices.IndexFunc(f.MessageType, func(m *descriptorpb.DescriptorProto) bool { return m.GetName() == name })
		return f.MessageType[i]
	}
	changes := map[string]struct {
		change func(*descriptorpb.FileDescriptorProto)
		want   string
	}{
		"a removed field": {
			func(f *descriptorpb.FileDescriptorProto) { m := message(f, "Progress"); m.Field = m.Field[:1] },
			"Progress.message is gone",
		},
		"a renumbered field": {
			func(f *descriptorpb.FileDescriptorProto) { message(f, "Progress").Field[1].Number = proto.Int32(9) },
			"Progress.message had number 2, has 9",
		},
		"a renamed field": {
			func(f *descriptorpb.FileDescriptorProto) {
				message(f, "Progress").Field[1].Name = proto.String("text")
				message(f, "Progress").Field[1].JsonName = proto.String("text")
			},
			"Progress.message is gone",
		},
		"a field of another type": {
			func(f *descriptorpb.FileDescriptorProto) {
				message(f, "Progress").Field[1].Type = descriptorpb.FieldDescriptorProto_TYPE_BYTES.Enum()
			},
			"Progress.message was optional string, is optional bytes",
		},
		"a field that is a list now": {
			func(f *descriptorpb.FileDescriptorProto) {
				message(f, "Progress").Field[1].Label = descriptorpb.FieldDescriptorProto_LABEL_REPEATED.Enum()
			},
			"Progress.message was optional string, is repeated string",
		},
		"a field of another message": {
			func(f *descriptorpb.FileDescriptorProto) {
				message(f, "AcquireTokenResponse").Field[0].TypeName = proto.String(".flowrun.plugin.v1.RefreshLease")
			},
			"AcquireTokenResponse.token was optional flowrun.plugin.v1.Token, is optional flowrun.plugin.v1.RefreshLease",
		},
		"a field that left its oneof": {
			func(f *descriptorpb.FileDescriptorProto) {
				message(f, "ExecuteEvent").Field[4].OneofIndex = nil
			},
			"ExecuteEvent.failed was in oneof event, is in none",
		},
		"a removed message": {
			func(f *descriptorpb.FileDescriptorProto) {
				f.MessageType = slices.DeleteFunc(f.MessageType, func(m *descriptorpb.DescriptorProto) bool { return m.GetName() == "Fault" })
				m := message(f, "Action")
				m.Field = slices.DeleteFunc(m.Field, func(f *descriptorpb.FieldDescriptorProto) bool { return f.GetName() == "faults" })
			},
			"message Fault is gone",
		},
		"a removed call": {
			func(f *descriptorpb.FileDescriptorProto) { f.Service[0].Method = f.Service[0].Method[:5] },
			"Plugin.Reconcile is gone",
		},
		"a call that streams no more": {
			func(f *descriptorpb.FileDescriptorProto) { f.Service[0].Method[4].ServerStreaming = nil },
			"Plugin.Execute has another form",
		},
		"a call with another request": {
			func(f *descriptorpb.FileDescriptorProto) {
				f.Service[0].Method[5].InputType = proto.String(".flowrun.plugin.v1.ExecuteRequest")
			},
			"Plugin.Reconcile has another form",
		},
		"a removed service": {
			func(f *descriptorpb.FileDescriptorProto) { f.Service = f.Service[:1] },
			"service Host is gone",
		},
		"a removed enum value": {
			func(f *descriptorpb.FileDescriptorProto) { f.EnumType[0].Value = f.EnumType[0].Value[:4] },
			"EFFECT_ONCE is gone",
		},
		"a renumbered enum value": {
			func(f *descriptorpb.FileDescriptorProto) { f.EnumType[0].Value[4].Number = proto.Int32(40) },
			"EFFECT_ONCE had number 4, has 40",
		},
		"an enum value of a message": {
			func(f *descriptorpb.FileDescriptorProto) {
				e := message(f, "Error").EnumType[0]
				e.Value = e.Value[:3]
			},
			"PARTLY is gone",
		},
		"an enum value under the number of another": {
			func(f *descriptorpb.FileDescriptorProto) {
				v := f.EnumType[0].Value
				v[3].Name, v[4].Name = v[4].Name, v[3].Name
			},
			"EFFECT_ONCE had number 4, has 3",
		},
		"another package": {
			func(f *descriptorpb.FileDescriptorProto) { renamePackage(f, "flowrun.plugin.v2") },
			"package flowrun.plugin.v1 is flowrun.plugin.v2",
		},
	}
	for name, c := range changes {
		t.Run(name, func(t *testing.T) {
			baseline := readDescriptor(t, committedFile)
			changed := protodesc.ToFileDescriptorProto(baseline)
			c.change(changed)
			found := compare(baseline, build(t, changed)).breaking
			if !slices.ContainsFunc(found, func(line string) bool { return strings.Contains(line, c.want) }) {
				t.Errorf("want %q among the breaking changes, got %q", c.want, found)
			}
		})
	}
}

func TestANameOfAnEnumValueIsFixedByARelease(t *testing.T) {
	baseline := readDescriptor(t, committedFile)
	changed := protodesc.ToFileDescriptorProto(baseline)
	changed.EnumType[0].Value[4].Name = proto.String("EFFECT_TWICE")
	changes := compare(baseline, build(t, changed))
	want := []string{"enum value EFFECT_ONCE is called EFFECT_TWICE"}
	if before, after := changes.refused(false), changes.refused(true); len(before) > 0 || !slices.Equal(after, want) {
		t.Errorf("refused before the release %q, after it %q", before, after)
	}
}

func TestComparisonAllowsAdditions(t *testing.T) {
	baseline := readDescriptor(t, committedFile)
	changed := protodesc.ToFileDescriptorProto(baseline)
	changed.MessageType = append(changed.MessageType, &descriptorpb.DescriptorProto{Name: proto.String("Extra")})
	changed.MessageType[0].Field = append(changed.MessageType[0].Field, &descriptorpb.FieldDescriptorProto{
		Name: proto.String("more"), JsonName: proto.String("more"), Number: proto.Int32(100),
		Type: descriptorpb.FieldDescriptorProto_TYPE_STRING.Enum(), Label: descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum(),
	})
	changed.EnumType[0].Value = append(changed.EnumType[0].Value, &descriptorpb.EnumValueDescriptorProto{Name: proto.String("EFFECT_NEW"), Number: proto.Int32(5)})
	changes := compare(baseline, build(t, changed))
	if len(changes.breaking) > 0 || len(changes.added) != 3 {
		t.Errorf("additions: breaking %q, added %q", changes.breaking, changes.added)
	}
}

// renamePackage moves every type of a file.
func renamePackage(f *descriptorpb.FileDescriptorProto, to string) {
	from := "." + f.GetPackage() + "."
	f.Package = proto.String(to)
	rename := func(name **string) {
		if *name != nil && strings.HasPrefix(**name, from) {
			*name = proto.String("." + to + "." + strings.TrimPrefix(**name, from))
		}
	}
	for _, m := range f.MessageType {
		for _, field := range m.Field {
			rename(&field.TypeName)
		}
	}
	for _, s := range f.Service {
		for _, m := range s.Method {
			rename(&m.InputType)
			rename(&m.OutputType)
		}
	}
}

func build(t *testing.T, file *descriptorpb.FileDescriptorProto) protoreflect.FileDescriptor {
	t.Helper()
	descriptor, err := protodesc.NewFile(file, protoregistry.GlobalFiles)
	if err != nil {
		t.Fatal(err)
	}
	return descriptor
}

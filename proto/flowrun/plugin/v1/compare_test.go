package pluginv1_test

import (
	"fmt"
	"os"
	"slices"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"

	// the imports of plugin.proto
	_ "google.golang.org/protobuf/types/known/durationpb"
	_ "google.golang.org/protobuf/types/known/timestamppb"
)

const packageName = "flowrun.plugin.v1"

// readDescriptor reads the plugin's file out of a committed descriptor set.
func readDescriptor(t *testing.T, name string) protoreflect.FileDescriptor {
	t.Helper()
	raw, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var set descriptorpb.FileDescriptorSet
	if err := proto.Unmarshal(raw, &set); err != nil {
		t.Fatalf("read %s: %v", name, err)
	}
	for _, file := range set.File {
		if file.GetPackage() != packageName {
			continue
		}
		descriptor, err := protodesc.NewFile(file, protoregistry.GlobalFiles)
		if err != nil {
			t.Fatalf("read %s: %v", name, err)
		}
		return descriptor
	}
	t.Fatalf("%s has no file of package %s", name, packageName)
	return nil
}

// changes are what differs between two versions of the protocol. Renamed are enum
// values of another name under the same number.
type changes struct{ breaking, renamed, added []string }

func (c *changes) all() []string { return slices.Concat(c.breaking, c.renamed, c.added) }

// refused are the changes that -update does not take over.
func (c *changes) refused(released bool) []string {
	if released {
		return slices.Concat(c.breaking, c.renamed)
	}
	return c.breaking
}

func (c *changes) breaks(format string, args ...any) {
	c.breaking = append(c.breaking, fmt.Sprintf(format, args...))
}

func (c *changes) adds(format string, args ...any) {
	c.added = append(c.added, fmt.Sprintf(format, args...))
}

// compare lists what a plugin built with the older version would notice. A
// renamed field counts as gone: JSON and generated code know it by its name.
func compare(older, newer protoreflect.FileDescriptor) *changes {
	c := &changes{}
	if older.Package() != newer.Package() {
		c.breaks("package %s is %s", older.Package(), newer.Package())
	}
	c.messages(older.Messages(), newer.Messages())
	c.enums(older.Enums(), newer.Enums())
	c.services(older.Services(), newer.Services())
	return c
}

func (c *changes) messages(older, newer protoreflect.MessageDescriptors) {
	for i := range older.Len() {
		was := older.Get(i)
		is := newer.ByName(was.Name())
		if is == nil {
			c.breaks("message %s is gone", was.Name())
			continue
		}
		c.fields(was, is)
		c.messages(was.Messages(), is.Messages())
		c.enums(was.Enums(), is.Enums())
	}
	for i := range newer.Len() {
		if name := newer.Get(i).Name(); older.ByName(name) == nil {
			c.adds("message %s is new", name)
		}
	}
}

func (c *changes) fields(older, newer protoreflect.MessageDescriptor) {
	for i := range older.Fields().Len() {
		was := older.Fields().Get(i)
		is := newer.Fields().ByName(was.Name())
		name := string(older.Name()) + "." + string(was.Name())
		switch {
		case is == nil:
			c.breaks("%s is gone", name)
		case is.Number() != was.Number():
			c.breaks("%s had number %d, has %d", name, was.Number(), is.Number())
		case fieldType(is) != fieldType(was):
			c.breaks("%s was %s, is %s", name, fieldType(was), fieldType(is))
		case oneofName(is) != oneofName(was):
			c.breaks("%s was in oneof %s, is in %s", name, oneofName(was), oneofName(is))
		}
	}
	for i := range newer.Fields().Len() {
		if name := newer.Fields().Get(i).Name(); older.Fields().ByName(name) == nil {
			c.adds("%s.%s is new", newer.Name(), name)
		}
	}
}

func fieldType(f protoreflect.FieldDescriptor) string {
	kind := f.Kind().String()
	switch {
	case f.Message() != nil:
		kind = string(f.Message().FullName())
	case f.Enum() != nil:
		kind = string(f.Enum().FullName())
	}
	return f.Cardinality().String() + " " + kind
}

func oneofName(f protoreflect.FieldDescriptor) string {
	if f.ContainingOneof() == nil {
		return "none"
	}
	return string(f.ContainingOneof().Name())
}

func (c *changes) enums(older, newer protoreflect.EnumDescriptors) {
	for i := range older.Len() {
		was := older.Get(i)
		if is := newer.ByName(was.Name()); is != nil {
			c.values(was, is)
		} else {
			c.breaks("enum %s is gone", was.Name())
		}
	}
	for i := range newer.Len() {
		if name := newer.Get(i).Name(); older.ByName(name) == nil {
			c.adds("enum %s is new", name)
		}
	}
}

// values compares by number: that is what built plugins send. The name alone may
// change as long as nobody has generated code from a released version.
func (c *changes) values(older, newer protoreflect.EnumDescriptor) {
	for i := range older.Values().Len() {
		was := older.Values().Get(i)
		is := newer.Values().ByNumber(was.Number())
		moved := newer.Values().ByName(was.Name())
		switch {
		case moved != nil && moved.Number() != was.Number():
			c.breaks("enum value %s had number %d, has %d", was.Name(), was.Number(), moved.Number())
		case is == nil:
			c.breaks("enum value %s is gone", was.Name())
		case is.Name() != was.Name():
			c.renamed = append(c.renamed, fmt.Sprintf("enum value %s is called %s", was.Name(), is.Name()))
		}
	}
	for i := range newer.Values().Len() {
		if is := newer.Values().Get(i); older.Values().ByNumber(is.Number()) == nil {
			c.adds("enum value %s is new", is.Name())
		}
	}
}

func (c *changes) services(older, newer protoreflect.ServiceDescriptors) {
	for i := range older.Len() {
		was := older.Get(i)
		is := newer.ByName(was.Name())
		if is == nil {
			c.breaks("service %s is gone", was.Name())
			continue
		}
		for j := range was.Methods().Len() {
			method := was.Methods().Get(j)
			switch now := is.Methods().ByName(method.Name()); {
			case now == nil:
				c.breaks("%s.%s is gone", was.Name(), method.Name())
			case callForm(now) != callForm(method):
				c.breaks("%s.%s has another form: was %s, is %s", was.Name(), method.Name(), callForm(method), callForm(now))
			}
		}
		for j := range is.Methods().Len() {
			if name := is.Methods().Get(j).Name(); was.Methods().ByName(name) == nil {
				c.adds("%s.%s is new", is.Name(), name)
			}
		}
	}
	for i := range newer.Len() {
		if name := newer.Get(i).Name(); older.ByName(name) == nil {
			c.adds("service %s is new", name)
		}
	}
}

func callForm(m protoreflect.MethodDescriptor) string {
	return fmt.Sprintf("(%s, stream %t) returns (%s, stream %t)",
		m.Input().FullName(), m.IsStreamingClient(), m.Output().FullName(), m.IsStreamingServer())
}

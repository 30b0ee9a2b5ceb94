// Command genproto compiles plugin.proto without protoc: it writes the Go code
// of the messages and of the gRPC services into the module of the SDK, and the
// descriptor set against which the breaking-change test compares.
//
// Run it from the repository's root: go -C tools run ./genproto
package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/bufbuild/protocompile"
	"github.com/bufbuild/protocompile/protoutil"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/pluginpb"
)

const (
	root      = ".."
	module    = "github.com/flowrun/flowrun" // what the generated code's import path begins with
	protoRoot = "../proto"
	protoFile = "flowrun/plugin/v1/plugin.proto"
)

func main() {
	if err := generate(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "genproto:", err)
		os.Exit(1)
	}
}

func generate(ctx context.Context) error {
	compiler := protocompile.Compiler{
		Resolver:       protocompile.WithStandardImports(&protocompile.SourceResolver{ImportPaths: []string{protoRoot}}),
		SourceInfoMode: protocompile.SourceInfoStandard,
	}
	files, err := compiler.Compile(ctx, protoFile)
	if err != nil {
		return fmt.Errorf("compile %s: %w", protoFile, err)
	}
	if err := checkStyle(files[0]); err != nil {
		return fmt.Errorf("%s:\n%w", protoFile, err)
	}
	set := &descriptorpb.FileDescriptorSet{}
	addWithImports(set, files[0], map[string]bool{})
	request := &pluginpb.CodeGeneratorRequest{
		FileToGenerate: []string{protoFile},
		Parameter:      proto.String("module=" + module),
		ProtoFile:      set.File,
	}
	for _, plugin := range []string{
		"google.golang.org/protobuf/cmd/protoc-gen-go",
		"google.golang.org/grpc/cmd/protoc-gen-go-grpc",
	} {
		if err := run(ctx, plugin, request); err != nil {
			return fmt.Errorf("run %s: %w", plugin, err)
		}
	}
	return writeDescriptorSet(set)
}

func addWithImports(set *descriptorpb.FileDescriptorSet, file protoreflect.FileDescriptor, seen map[string]bool) {
	if seen[file.Path()] {
		return
	}
	seen[file.Path()] = true
	for i := range file.Imports().Len() {
		addWithImports(set, file.Imports().Get(i).FileDescriptor, seen)
	}
	set.File = append(set.File, protoutil.ProtoFromFileDescriptor(file))
}

func run(ctx context.Context, plugin string, request *pluginpb.CodeGeneratorRequest) error {
	input, err := proto.Marshal(request)
	if err != nil {
		return err
	}
	var output bytes.Buffer
	command := exec.CommandContext(ctx, "go", "run", plugin)
	command.Stdin, command.Stdout, command.Stderr = bytes.NewReader(input), &output, os.Stderr
	if err := command.Run(); err != nil {
		return err
	}
	var response pluginpb.CodeGeneratorResponse
	if err := proto.Unmarshal(output.Bytes(), &response); err != nil {
		return fmt.Errorf("read its answer: %w", err)
	}
	if response.Error != nil {
		return errors.New(*response.Error)
	}
	for _, file := range response.File {
		path := filepath.Join(root, filepath.FromSlash(file.GetName()))
		if err := os.WriteFile(path, []byte(file.GetContent()), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// writeDescriptorSet stores the descriptors without source positions, so that
// a changed comment is no change of the protocol.
func writeDescriptorSet(set *descriptorpb.FileDescriptorSet) error {
	for _, file := range set.File {
		file.SourceCodeInfo = nil
	}
	bytes, err := proto.MarshalOptions{Deterministic: true}.Marshal(set)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(protoRoot, "flowrun/plugin/v1/plugin.binpb"), bytes, 0o644)
}

package wire

import (
	"os"
	"testing"

	_ "github.com/hashicorp/go-plugin" // registers its controller
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
)

// TestIssue15_6_WhatAPluginServesBesidesIsWhatOthersHave holds the two files beside
// plugin.proto, from which plugins in other languages are made, against grpc-go's health
// service and go-plugin's controller.
func TestIssue15_6_WhatAPluginServesBesidesIsWhatOthersHave(t *testing.T) {
	raw, err := os.ReadFile("../../proto/flowrun/plugin/v1/besides.binpb")
	if err != nil {
		t.Fatal(err)
	}
	var set descriptorpb.FileDescriptorSet
	if err := proto.Unmarshal(raw, &set); err != nil {
		t.Fatal(err)
	}
	controller, err := protoregistry.GlobalFiles.FindFileByPath("internal/plugin/grpc_controller.proto")
	if err != nil {
		t.Fatal(err)
	}
	theirs := map[string]protoreflect.FileDescriptor{"grpc.health.v1": grpc_health_v1.File_grpc_health_v1_health_proto, "plugin": controller}
	compared := 0
	for _, ours := range set.GetFile() {
		with := theirs[ours.GetPackage()]
		for _, service := range ours.GetService() {
			known := with.Services().ByName(protoreflect.Name(service.GetName()))
			for _, method := range service.GetMethod() {
				theirs := known.Methods().ByName(protoreflect.Name(method.GetName()))
				if theirs == nil || "."+string(theirs.Input().FullName()) != method.GetInputType() || "."+string(theirs.Output().FullName()) != method.GetOutputType() ||
					theirs.IsStreamingClient() || theirs.IsStreamingServer() {
					t.Errorf("%s of %s is not theirs", method.GetName(), ours.GetPackage())
				}
				compared++
			}
		}
		for _, message := range ours.GetMessageType() {
			known := with.Messages().ByName(protoreflect.Name(message.GetName()))
			for _, field := range message.GetField() {
				if theirs := known.Fields().ByName(protoreflect.Name(field.GetName())); theirs == nil || int32(theirs.Number()) != field.GetNumber() || int32(theirs.Kind()) != int32(field.GetType()) {
					t.Errorf("field %s of %s is not theirs", field.GetName(), message.GetName())
				}
				compared++
			}
			for _, enum := range message.GetEnumType() {
				for _, value := range enum.GetValue() {
					if theirs := known.Enums().ByName(protoreflect.Name(enum.GetName())).Values().ByName(protoreflect.Name(value.GetName())); theirs == nil || int32(theirs.Number()) != value.GetNumber() {
						t.Errorf("%s is not theirs", value.GetName())
					}
					compared++
				}
			}
		}
	}
	if compared != 8 {
		t.Errorf("%d things were compared", compared)
	}
}

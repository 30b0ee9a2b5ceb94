package wire

import (
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"github.com/flowrun/flowrun/proto/pluginv1grpc"
	"github.com/flowrun/flowrun/sdk"
	pluginv1 "github.com/flowrun/flowrun/sdk/proto/pluginv1"
)

// BenchmarkCall is one call of an action that does nothing: the price of the wire alone,
// between grpc-go's client and the SDK in one process.
func BenchmarkCall(b *testing.B) {
	plugin := sdk.New("bench", "1.0.0", "Does nothing", sdk.Read("nothing", "Nothing", func(*sdk.Call[struct{}], sdk.NoInput) (wireOut, error) { return wireOut{}, nil }))
	client := pluginv1grpc.NewPluginClient(servePlugin(b, plugin, grpc.NewServer()))
	b.ReportAllocs()
	for b.Loop() {
		stream, err := client.Execute(b.Context(), &pluginv1.ExecuteRequest{Action: "nothing", Input: &pluginv1.Value{Json: []byte(`{}`)}})
		if err != nil {
			b.Fatal(err)
		}
		for err == nil {
			_, err = stream.Recv()
		}
	}
}

// BenchmarkStreamedCall is the same by a stream.
func BenchmarkStreamedCall(b *testing.B) {
	plugin := sdk.New("bench", "1.0.0", "Does nothing", sdk.Read("nothing", "Nothing", func(*sdk.Call[struct{}], sdk.NoInput) (wireOut, error) { return wireOut{}, nil }))
	stream, err := pluginv1grpc.NewPluginClient(servePlugin(b, plugin, grpc.NewServer())).ExecuteStream(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	encoded, err := proto.Marshal(&pluginv1.ExecuteRequest{Action: "nothing", Input: &pluginv1.Value{Json: []byte(`{}`)}})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for number := uint64(1); b.Loop(); number++ {
		if err := stream.Send(&pluginv1.ExecuteStreamRequest{Calls: []*pluginv1.CallWord{{Call: number, Execute: encoded}}}); err != nil {
			b.Fatal(err)
		}
		if _, err := stream.Recv(); err != nil {
			b.Fatal(err)
		}
	}
}

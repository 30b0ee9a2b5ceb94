package wire

import (
	"testing"

	"google.golang.org/grpc"

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

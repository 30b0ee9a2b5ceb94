module example.com/flowrun-plugin-endpoints

go 1.26.0

require github.com/flowrun/flowrun/sdk v0.1.0

require (
	connectrpc.com/connect v1.21.1 // indirect
	connectrpc.com/grpchealth v1.5.0 // indirect
	golang.org/x/net v0.60.0 // indirect
	golang.org/x/sys v0.48.0 // indirect
	golang.org/x/text v0.42.0 // indirect
	google.golang.org/protobuf v1.36.12 // indirect
)

replace github.com/flowrun/flowrun/sdk => ../../../sdk

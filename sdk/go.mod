module github.com/flowrun/flowrun/sdk

go 1.26.0

require (
	connectrpc.com/connect v1.21.1
	connectrpc.com/grpchealth v1.5.0
	github.com/google/go-cmp v0.7.0
	golang.org/x/net v0.60.0
	golang.org/x/sys v0.48.0
	google.golang.org/protobuf v1.36.12
)

require golang.org/x/text v0.42.0 // indirect

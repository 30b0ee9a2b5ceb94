package pluginhost

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/pluginhost/gate"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/proto/pluginv1grpc"
)

// protocolMethods begins the names of the protocol's methods. What go-plugin says
// beside them carries the output streams, whose lines pass the gate where they are
// read.
const protocolMethods = "/flowrun.plugin.v1."

// gate is the one way by which what plugins say comes in.
func (o Options) gate() *gate.Gate {
	options := gate.Options{}
	if o.Redactor != nil {
		options.Redact = o.Redactor.Redact
	}
	if o.Opaque != nil {
		options.Digest = o.Opaque.Digest
	}
	return gate.New(options)
}

// gateAnswer lets the answer of one call in.
func (p *process) gateAnswer(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	if err := invoke(ctx, method, req, reply, cc, opts...); err != nil {
		return p.unit.host.gate.Status(err)
	}
	return p.unit.host.letIn(method, reply)
}

// gateAnswers lets the events of a stream in, one after the other.
func (p *process) gateAnswers(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, open grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
	stream, err := open(ctx, desc, cc, method, opts...)
	if err != nil {
		return nil, p.unit.host.gate.Status(err)
	}
	if method == pluginv1grpc.Plugin_ExecuteStream_FullMethodName {
		return stream, nil // its events are let in one by one, as those of their calls
	}
	return &gatedStream{ClientStream: stream, host: p.unit.host, method: method}, nil
}

type gatedStream struct {
	grpc.ClientStream
	host   *Host
	method string
}

// RecvMsg reads the next message through the gate.
func (s *gatedStream) RecvMsg(m any) error {
	if err := s.ClientStream.RecvMsg(m); err != nil {
		return s.host.gate.Status(err)
	}
	return s.host.letIn(s.method, m)
}

// gateQuestion lets what a plugin asks the host in.
func (s *services) gateQuestion(ctx context.Context, req any, info *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
	if err := s.process.unit.host.letIn(info.FullMethod, req); err != nil {
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}
	return handle(ctx, req)
}

// letIn passes one message of the protocol: it is measured as it was sent, then the
// gate has it.
func (h *Host) letIn(method string, message any) error {
	if !strings.HasPrefix(method, protocolMethods) {
		return nil
	}
	m, ok := message.(proto.Message)
	if !ok {
		return fmt.Errorf("%s: a message of %T", method, message)
	}
	if over := exceeded(h.options.Limits.Quotas, m); over != nil {
		return over
	}
	return h.gate.Message(m)
}

// excessIn returns what was too large in a message, nil when err is another.
func excessIn(err error) *excess {
	over, _ := errors.AsType[*excess](err)
	return over
}

// faultIn returns what the gate found wrong with a message, nil when err is another.
func faultIn(err error) *gate.Fault {
	fault, _ := errors.AsType[*gate.Fault](err)
	return fault
}

// faultFailure is the failure of a call whose answer the gate did not let in.
func (u *unit) faultFailure(fault *gate.Fault) *runs.Error {
	return runs.Failure(plan.KindUnexpectedResponse, runs.AppliedUnknown, "the answer of plugin %s can't be taken: %v", u.source.Name, fault)
}

// brokenAnswer is brokenCall for the calls that answer with an output.
func (p *process) brokenAnswer(ctx context.Context, a *actionContract, err error) *runs.Error {
	if fault := faultIn(err); fault != nil && strings.HasSuffix(fault.Path, "output.json") {
		return runs.Failure(plan.KindUnexpectedResponse, runs.AppliedUnknown, "the output of %s is no JSON that all read alike: %s", a.FullName(), fault.Why)
	}
	return p.brokenCall(ctx, err)
}

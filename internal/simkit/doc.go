// Package simkit is what the simulators of the services share: faults on demand,
// a journal of requests, and a fixed-window limiter.
//
// A simulator wraps its handler with [Kit.Handler]. A request then goes through
// these stations: the journal notes it, a fault that matches may answer it or
// break the connection before the service saw it, the service's own handler
// answers, and the fault may spoil that answer on its way out. Requests below
// /_sim/ are the control endpoint and pass none of these.
//
// Everything here is safe for concurrent use.
package simkit

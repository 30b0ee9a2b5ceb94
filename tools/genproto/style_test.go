package main

import (
	"context"
	"strings"
	"testing"

	"github.com/bufbuild/protocompile"
)

const wellSaid = `syntax = "proto3";
package p;
// S is a service.
service S {
  // M is a call.
  rpc M(A) returns (A);
}
message A {
  reserved 2;
  string one = 1;    // the first
  State three = 3;   // the last
  enum State {
    STATE_UNSPECIFIED = 0; // nothing
    STATE_ON = 1;          // on
  }
}
`

func styleOf(t *testing.T, source string) string {
	t.Helper()
	compiler := protocompile.Compiler{
		Resolver:       &protocompile.SourceResolver{Accessor: protocompile.SourceAccessorFromMap(map[string]string{"p.proto": source})},
		SourceInfoMode: protocompile.SourceInfoStandard,
	}
	files, err := compiler.Compile(context.Background(), "p.proto")
	if err != nil {
		t.Fatal(err)
	}
	if err := checkStyle(files[0]); err != nil {
		return err.Error()
	}
	return ""
}

func TestStyleOfTheProtocol(t *testing.T) {
	if got := styleOf(t, wellSaid); got != "" {
		t.Errorf("a well-said protocol is refused: %s", got)
	}
	for name, c := range map[string]struct{ from, to, want string }{
		"a field without a comment":   {"// the first", "", "p.A.one has no comment"},
		"a value without a comment":   {"// on", "", "p.A.STATE_ON has no comment"},
		"a call without a comment":    {"// M is a call.", "", "p.S.M has no comment"},
		"a service without a comment": {"// S is a service.", "", "p.S has no comment"},
		"a hole":                      {"reserved 2;", "", "number 2 of p.A is neither used nor reserved"},
		"a value without its prefix":  {"STATE_ON", "ON", "value ON of enum p.A.State does not begin with STATE_"},
		"a zero that means something": {"STATE_UNSPECIFIED", "STATE_OFF", "enum p.A.State has no zero STATE_UNSPECIFIED"},
		"a hole among values":         {"STATE_ON = 1", "STATE_ON = 2", "number 1 of enum p.A.State is neither used nor reserved"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := styleOf(t, strings.Replace(wellSaid, c.from, c.to, 1)); got != c.want {
				t.Errorf("want %q, got %q", c.want, got)
			}
		})
	}
}

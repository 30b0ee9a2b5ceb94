package cli

import (
	"errors"
	"strings"
	"syscall"
	"testing"

	"github.com/flowrun/flowrun/engine/connections"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
)

func TestExitCodeOfConnectionTests(t *testing.T) {
	fail := func(kind plan.ErrorKind, applied runs.Applied) connections.Test {
		return connections.Test{Error: &runs.Error{Kind: kind, Applied: applied}}
	}
	fine := connections.Test{OK: true}
	invalid, login, down := fail(plan.KindInvalid, runs.NotApplied), fail(plan.KindAuthRequired, runs.NotApplied), fail(plan.KindUnavailable, runs.NotApplied)
	for name, test := range map[string]struct {
		tests []connections.Test
		want  int
	}{
		"none":             {nil, exitOK},
		"all are well":     {[]connections.Test{fine, fine}, exitOK},
		"a wrong config":   {[]connections.Test{fine, invalid, invalid}, exitInvalid},
		"a login":          {[]connections.Test{login, fine}, exitLogin},
		"a service":        {[]connections.Test{down}, exitFailed},
		"of several kinds": {[]connections.Test{login, invalid}, exitFailed},
	} {
		if got := exitOfTests(test.tests); got != test.want {
			t.Errorf("%s: exit code %d, want %d", name, got, test.want)
		}
	}
}

func TestExitCodeOfACanceledLogin(t *testing.T) {
	for _, test := range []struct {
		err  error
		want int
	}{
		{errLoginCanceled, exitCanceled}, {&killedError{syscall.SIGINT}, exitInterrupted}, {&killedError{syscall.SIGTERM}, 143}, {errors.New("x"), exitInternal},
	} {
		if got := exitCode(canceledLogin(test.err)); got != test.want {
			t.Errorf("%v: exit code %d, want %d", test.err, got, test.want)
		}
	}
}

func TestScopesComeTogetherOrApart(t *testing.T) {
	if got := strings.Join(splitScopes([]string{"a  b", "c", " "}), "|"); got != "a|b|c" {
		t.Errorf("got %s", got)
	}
}

// TestASecretIsNeverTakenFromTheArguments, nor told again.
func TestASecretIsNeverTakenFromTheArguments(t *testing.T) {
	const canary = "canary-4711"
	dir := t.TempDir()
	for _, args := range [][]string{
		{"T", canary}, {"T=" + canary}, {canary}, {"T", "-p" + canary}, {"T", "--value", canary}, {"T", "--from-file"}, {},
	} {
		got := runIn(t, dir, nil, append([]string{"secrets", "set"}, args...)...)
		if got.code != exitUsage || strings.Contains(got.stdout+got.stderr, canary) || got.stderr == "" {
			t.Errorf("%v: exit code %d, %q", args, got.code, got.stderr)
		}
	}
}

//go:build linux

package main_test

import (
	"io"
	"strings"
	"testing"
)

// TestIssue12_07ACallAsksForASecretInput types a missing secret input at the
// terminal: it is used, and never shown.
func TestIssue12_07ACallAsksForASecretInput(t *testing.T) {
	t.Parallel()
	term := openTerminal(t, 100, 24)
	command := term.start(t, buildBinary(t), t.TempDir(), "call", "tasks.invitation_accept", "--sandbox")
	term.await(t, `(?s)invite_code: a secret.*not shown.*makes the call`)
	if _, err := io.WriteString(term.master, "typed-canary-0815\r"); err != nil {
		t.Fatal(err)
	}
	term.await(t, `404 Not Found`)
	if got := exitOf(command.Wait()); got != 5 {
		t.Errorf("exit code %d, want 5", got)
	}
	if strings.Contains(term.text(), "typed-canary") {
		t.Errorf("the terminal shows the secret:\n%s", term.text())
	}
}

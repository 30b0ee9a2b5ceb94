package workspace

import (
	"errors"
	"testing"
)

// TestADescriptionThatTakesLongKeepsNobodyElse: who asks for another plugin gets its
// description; who asks for the same one waits for the one answer.
func TestADescriptionThatTakesLongKeepsNobodyElse(t *testing.T) {
	p := projectOf(t, "", nil)
	slow := &description{answered: make(chan struct{})}
	p.descriptions["login"] = slow
	if d, err := p.Describe("feed"); err != nil || d.Name != "feed" {
		t.Fatalf("the other plugin: %v, %v", d, err)
	}
	p.ForgetFailures()
	if p.descriptions["login"] != slow {
		t.Error("a description that is asked for is forgotten: it would be asked for twice")
	}
	done := make(chan error)
	go func() {
		_, err := p.Describe("login")
		done <- err
	}()
	slow.err = ErrUnknownPlugin
	close(slow.answered)
	if err := <-done; !errors.Is(err, ErrUnknownPlugin) {
		t.Errorf("who waited got %v", err)
	}
	p.ForgetFailures()
	if d, err := p.Describe("login"); err != nil || d.Name != "login" {
		t.Errorf("a failure is not forgotten: %v, %v", d, err)
	}
}

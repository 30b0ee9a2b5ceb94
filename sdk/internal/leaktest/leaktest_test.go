package leaktest_test

import (
	"strings"
	"testing"

	"github.com/flowrun/flowrun/sdk/internal/leaktest"
)

func TestAGoroutineThatIsLeftIsFound(t *testing.T) {
	if left := leaktest.Left(); len(left) > 0 {
		t.Fatalf("nothing was started, and %q is left", left)
	}
	begun, end, ended := make(chan struct{}), make(chan struct{}), make(chan struct{})
	go stay(begun, end, ended)
	<-begun
	if left := leaktest.Left(); len(left) != 1 || !strings.Contains(left[0], "leaktest_test.stay") {
		t.Errorf("of the goroutine in stay %q is left", left)
	}
	close(end)
	<-ended
}

func stay(begun, end, ended chan struct{}) {
	defer close(ended)
	close(begun)
	<-end
}

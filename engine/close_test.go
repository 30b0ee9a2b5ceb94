package engine

import "testing"

func TestASecondCloseIsNoHarm(t *testing.T) {
	e, err := openAt(t, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := e.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

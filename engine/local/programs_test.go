package local

import (
	"errors"
	"fmt"
	"testing"

	"github.com/flowrun/flowrun/engine/plan"
)

func TestAPlanIsCompiledOnce(t *testing.T) {
	var cache programs
	loads := 0
	load := func() (*plan.Workflow, error) {
		loads++
		return &plan.Workflow{Format: plan.FormatVersion, Name: "w"}, nil
	}
	first, err := cache.of("a", load)
	if err != nil {
		t.Fatal(err)
	}
	again, err := cache.of("a", load)
	if err != nil || again != first || loads != 1 {
		t.Errorf("the second time: %v, %d loads, shared %t", err, loads, again == first)
	}
	for i := range maxPrograms - 1 {
		if _, err := cache.of(fmt.Sprint(i), load); err != nil {
			t.Fatal(err)
		}
	}
	loads = 0
	if _, err := cache.of("a", load); err != nil || loads != 0 {
		t.Errorf("a full cache lost a plan: %v, %d loads", err, loads)
	}
	if _, err := cache.of("one more", load); err != nil {
		t.Fatal(err)
	}
	if _, err := cache.of("0", load); err != nil || loads != 2 {
		t.Errorf("the plan used least recently was not the one that went: %v, %d loads", err, loads)
	}
	if len(cache.known) != maxPrograms || len(cache.order) != maxPrograms {
		t.Errorf("%d plans in an order of %d, want %d", len(cache.known), len(cache.order), maxPrograms)
	}
}

func TestAPlanWithoutAHashOrWithAnErrorIsNotKept(t *testing.T) {
	var cache programs
	loads := 0
	load := func() (*plan.Workflow, error) {
		loads++
		return &plan.Workflow{Format: plan.FormatVersion, Name: "w"}, nil
	}
	for range 2 {
		if _, err := cache.of("", load); err != nil {
			t.Fatal(err)
		}
	}
	if loads != 2 {
		t.Errorf("%d loads of plans without a hash, want 2", loads)
	}
	broken := errors.New("broken")
	if _, err := cache.of("b", func() (*plan.Workflow, error) { return nil, broken }); !errors.Is(err, broken) {
		t.Errorf("err = %v", err)
	}
	if _, err := cache.of("b", load); err != nil {
		t.Errorf("after a failed load: %v", err)
	}
}

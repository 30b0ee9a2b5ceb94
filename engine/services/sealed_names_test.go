package services

import (
	"testing"

	"github.com/flowrun/flowrun/engine/secret"
)

func TestSealedValuesAreNamedAsPeopleKnowThem(t *testing.T) {
	tests := map[secret.Place]SealedValue{
		{Bucket: "tokens", Key: "9:auth/work/{}"}:                           {Kind: "login", Name: "work"},
		{Bucket: "tokens", Key: "odd"}:                                      {Kind: "login", Name: "odd"},
		{Bucket: "secrets", Key: "TASKS_TOKEN"}:                             {Kind: "secret", Name: "TASKS_TOKEN"},
		{Bucket: "secrets.run", Key: "run/01k8zq4c0vdx3y6t7k9m2n5p8r/00ff"}: {Kind: "output", Name: "01k8zq4c0vdx3y6t7k9m2n5p8r"},
		{Bucket: StateBucket, Key: `["tasks","work","since"]`}:              {Kind: "plugin state", Name: "tasks"},
		{Bucket: StateBucket, Key: `not of ours`}:                           {Kind: "plugin state", Name: "not of ours"},
	}
	for place, want := range tests {
		if got := sealedValue(place); got != want {
			t.Errorf("%+v is named %+v, want %+v", place, got, want)
		}
	}
}

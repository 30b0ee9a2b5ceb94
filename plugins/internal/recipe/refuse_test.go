package recipe_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flowrun/flowrun/plugins/internal/recipe"
	"github.com/flowrun/flowrun/sdk"
)

func TestRefusals(t *testing.T) {
	t.Parallel()
	r := &recipe.Recipe{Refuse: []recipe.Refusal{
		{Input: "name", If: "://", Say: "is a URL", Hint: "leave {match} out"},
		{Input: "name", If: "[^.]{4,}", Say: "{match} has {length} characters"},
		{Input: "name", If: "=(.*)$", Say: "{match} is behind it"},
		{Input: "ip", Not: recipe.AsAddress, Say: "is no address"},
	}}
	for input, want := range map[string][]string{
		`{"name":"ab.cd","ip":"::1"}`:             nil,
		`{"name":"http://x"}`:                     {"/name: is a URL (leave \"://\" out)"}, // the first that applies counts
		`{"name":"a.bcdéf"}`:                      {`/name: "bcdéf" has 5 characters`},
		`{"name":"a=é"}`:                          {`/name: "é" is behind it`},
		`{"name":"abcd","ip":"fe80::1%eth0"}`:     {`/name: "abcd" has 4 characters`, "/ip: is no address"},
		`{"name":7,"ip":null}`:                    nil, // the schema says what they must be
		`{"name":"a\u0000\u001b[31mbcdef"}`:       {`/name: "a[31mbcdef" has 12 characters`},
		`{}`:                                      nil,
		`{"ip":"1.2.3"}`:                          {"/ip: is no address"},
		`{"ip":"::ffff:192.0.2.1","name":"x=.."}`: {`/name: ".." is behind it`},
	} {
		var got []string
		for _, p := range r.Refused(sdk.Value(input), nil) {
			text := p.Pointer + ": " + p.Summary
			if p.Detail != "" {
				text += " (" + p.Detail + ")"
			}
			got = append(got, text)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", input, diff)
		}
	}
	if problems := r.Refused(raw(`{"name":"http://x","ip":"x"}`), []string{"/name"}); len(problems) != 1 || problems[0].Pointer != "/ip" {
		t.Errorf("a name that is not known: %v", problems)
	}
	if (recipe.Refusal{If: "("}).Check() == nil || (recipe.Refusal{If: "a|b"}).Check() != nil {
		t.Error("Check does not tell a rule that can't be read")
	}
}

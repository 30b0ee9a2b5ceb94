package recipe

import (
	"net/netip"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/flowrun/flowrun/sdk"
)

// Refusal is a rule about a text of the input that its schema can't say, or not in words
// that help: what it refuses is never sent. Of the rules about one input the first that
// applies counts.
type Refusal struct {
	Input string `json:"input"`          // member of the input
	If    string `json:"if,omitempty"`   // regular expression that is found in what is refused
	Not   string `json:"not,omitempty"`  // AsAddress: refuses what is none
	Say   string `json:"say"`            // what is wrong: {match} is what was found, quoted, {length} how many characters that has
	Hint  string `json:"hint,omitempty"` // what to do, with the same words
}

// Refused says what the rules refuse in an input. Nothing is said of members at the JSON
// Pointers of unknown, and of values that are no text.
func (r *Recipe) Refused(input sdk.Value, unknown []string) []sdk.Problem {
	if len(r.Refuse) == 0 {
		return nil
	}
	r.once.Do(r.compile)
	fields, _ := sdk.ReadMembers(input)
	var problems []sdk.Problem
	done := map[string]bool{}
	for i, rule := range r.Refuse {
		said, isText := textOf(fields.Get(rule.Input))
		if done[rule.Input] || !isText || sdk.IsUnknown(unknown, sdk.Pointer(rule.Input)) {
			continue
		}
		found, applies := rule.finds(said, r.patterns[i])
		if !applies {
			continue
		}
		done[rule.Input] = true
		words := strings.NewReplacer("{match}", strconv.Quote(sdk.Shown(found, 64)), "{length}", strconv.Itoa(utf8.RuneCountInString(found)))
		problem := sdk.Problemf(sdk.Pointer(rule.Input), "%s", words.Replace(rule.Say))
		if rule.Hint != "" {
			problem = problem.WithDetail("%s", words.Replace(rule.Hint))
		}
		problems = append(problems, problem)
	}
	return problems
}

// compile reads the expressions of the rules, once: a process makes many calls of an action.
// One that can't be read was refused by Check before, and applies to nothing.
func (r *Recipe) compile() {
	r.patterns = make([]*regexp.Regexp, len(r.Refuse))
	for i, rule := range r.Refuse {
		r.patterns[i], _ = regexp.Compile(rule.If)
	}
}

// finds returns what of a text a rule refuses.
func (f Refusal) finds(said string, pattern *regexp.Regexp) (found string, applies bool) {
	if f.Not == AsAddress {
		address, err := netip.ParseAddr(said)
		return said, err != nil || address.Zone() != ""
	}
	if pattern == nil {
		return "", false
	}
	at := pattern.FindStringSubmatchIndex(said)
	if at == nil {
		return "", false
	}
	if len(at) > 2 && at[2] >= 0 {
		return said[at[2]:at[3]], true
	}
	return said[at[0]:at[1]], true
}

// Check says what is wrong with a rule, nil for nothing.
func (f Refusal) Check() error {
	_, err := regexp.Compile(f.If)
	return err
}

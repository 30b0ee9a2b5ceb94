package diag

import "testing"

// Places count characters, a byte order mark is none, and all else stays.
func TestApplyChangesNothingElse(t *testing.T) {
	t.Parallel()
	source := "\xEF\xBB\xBFa: é1 # é\r\nb: 2\n"
	edits := []Edit{
		{Line: 2, Column: 4, EndLine: 2, EndColumn: 5, Old: "2", New: "3"},
		{Line: 1, Column: 5, EndLine: 1, EndColumn: 6, Old: "1", New: ""},
		{Line: 2, Column: 1, EndLine: 2, EndColumn: 1, New: "c: 4\r\n"},
	}
	got, err := Apply([]byte(source), edits)
	if want := "\xEF\xBB\xBFa: é # é\r\nc: 4\r\nb: 3\n"; err != nil || string(got) != want {
		t.Errorf("%q, %v, want %q", got, err, want)
	}
	for name, bad := range map[string][]Edit{
		"stale":   {{Line: 2, Column: 4, EndLine: 2, EndColumn: 5, Old: "7", New: "3"}},
		"beyond":  {{Line: 9, Column: 1, EndLine: 9, EndColumn: 1, New: "x"}},
		"too far": {{Line: 2, Column: 40, EndLine: 2, EndColumn: 40, New: "x"}},
		"over each other": {
			{Line: 2, Column: 1, EndLine: 2, EndColumn: 5, Old: "b: 2", New: ""}, {Line: 2, Column: 4, EndLine: 2, EndColumn: 5, Old: "2", New: "3"},
		},
		"backwards": {{Line: 2, Column: 5, EndLine: 2, EndColumn: 4, New: "3"}},
	} {
		if got, err := Apply([]byte(source), bad); err == nil {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// What EditOf says, Apply does.
func TestEditOfIsApplied(t *testing.T) {
	t.Parallel()
	source := []byte("ä: [ö, ü]\nb: c\n")
	for from := range source {
		for to := from; to <= len(source); to++ {
			if from > 0 && source[from]&0xC0 == 0x80 || to < len(source) && source[to]&0xC0 == 0x80 {
				continue // inside of a character
			}
			got, err := Apply(source, []Edit{EditOf(source, from, to, "X")})
			if want := string(source[:from]) + "X" + string(source[to:]); err != nil || string(got) != want {
				t.Fatalf("[%d, %d): %q, %v, want %q", from, to, got, err, want)
			}
		}
	}
}

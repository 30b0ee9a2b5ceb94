package eval

import "testing"

// TestIssue12_34LayoutsOfOthersAreTranslated: what other products write gives
// that very text here.
func TestIssue12_34LayoutsOfOthersAreTranslated(t *testing.T) {
	for layout, want := range map[string]string{
		"YYYY-MM-DD": "2006-01-02", "%Y-%m-%d": "2006-01-02", "yyyy-MM-dd'T'HH:mm:ss": "2006-01-02T15:04:05", "YYYYMMDD": "20060102",
		"DD.MM.YYYY HH:mm": "02.01.2006 15:04", "D/M/YY": "2/1/06", "hh:mm a": "03:04 PM", "MMM D, YYYY": "Jan 2, 2006", "dddd, MMMM D": "Monday, January 2",
		"YYYY-MM-DDTHH:mm:ssZ": "2006-01-02T15:04:05Z07:00", "%d %b %Y, %H:%M:%S": "02 Jan 2006, 15:04:05", "%F %T": "2006-01-02 15:04:05",
		"YYYY [at] HH": "2006 at 15", "2006-MM-02": "2006-01-02", "HH:mm": "15:04", "%-d.%-m.": "02.01.",
		// what is Go's, or text, stays
		"2006-01-02": "", "Mon, 02 Jan 2006 15:04:05 MST": "", "January 2 at 3PM": "", "15h04": "", "2006-01-02T15:04:05Z07:00": "", "02.01.2006 Uhr": "", "Monday": "", "06": "", ".000": "",
		"1d 2006": "", "2006 MST": "", "Jan _2": "", "2006W": "",
	} {
		sign, got := foreignLayout(layout)
		if got != want {
			t.Errorf("%s is written %q (%s), want %q", layout, got, sign, want)
		}
		if want != "" && isConstant(want) || isConstant("2006") || !isConstant("hello") {
			t.Errorf("%q: what is constant is wrong", layout)
		}
	}
}

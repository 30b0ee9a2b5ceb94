package sdk

import (
	"encoding/json"
	"testing"
)

func TestWholeNumbers(t *testing.T) {
	for text, want := range map[string]string{
		"3320.0": "3320", "3.32e3": "3320", "1E+2": "100", "-0.0": "0", "120e-1": "12", "0e99": "0", "9223372036854775807": "9223372036854775807",
		"9223372036854775807.000": "9223372036854775807", "0.0e-5": "0", "-12.00": "-12",
		"3320.5": "", "1e-1": "", "9223372036854775808": "", "1e19": "", "1e400000000000": "", "5e-2000": "",
	} {
		got, ok := wholeNumber(json.Number(text))
		if ok != (want != "") || ok && string(got) != want {
			t.Errorf("%s is %s %t, want %q", text, got, ok, want)
		}
	}
}

package sdk

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/flowrun/flowrun/sdk/proto/document"
)

// byteOrderMark may stand before a document (RFC 8259, 8.1: it is ignored).
var byteOrderMark = []byte("\xef\xbb\xbf")

// invalidText tells the first byte of a text that is no UTF-8, "" for none.
func invalidText(text []byte) string {
	for at := 0; at < len(text); {
		r, size := utf8.DecodeRune(text[at:])
		if r == utf8.RuneError && size == 1 {
			return fmt.Sprintf("byte %d (0x%02x) is no UTF-8", at, text[at])
		}
		at += size
	}
	return ""
}

// wholeNumber returns a number without a fraction as an integer of 64 bits,
// however it is written: 3320.0, 1e3.
func wholeNumber(n json.Number) (json.Number, bool) {
	mantissa, exponent, _ := strings.Cut(strings.ToLower(n.String()), "e")
	sign := ""
	if strings.HasPrefix(mantissa, "-") {
		sign, mantissa = "-", mantissa[1:]
	}
	shift := 0
	if exponent != "" {
		var err error
		if shift, err = strconv.Atoi(exponent); err != nil || shift > document.MaxDigits || shift < -document.MaxDigits {
			return "", false
		}
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	digits, point := whole+fraction, len(whole)+shift
	switch {
	case point <= 0:
		whole, fraction = "0", digits
	case point >= len(digits):
		whole, fraction = digits+strings.Repeat("0", point-len(digits)), ""
	default:
		whole, fraction = digits[:point], digits[point:]
	}
	if strings.Trim(fraction, "0") != "" {
		return "", false
	}
	value, err := strconv.ParseInt(sign+whole, 10, 64)
	return json.Number(strconv.FormatInt(value, 10)), err == nil
}

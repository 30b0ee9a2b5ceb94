package quota

import (
	"fmt"
	"strconv"
	"strings"
)

// ReasonLimit is the reason of what ended for being too large (docs/reliability.md,
// "Limits").
const ReasonLimit = "limit"

// MaxStepLog bounds the log of one step of one run, in bytes as they are stored.
const MaxStepLog = 16 << 20

// maxDigits is how many digits a size has at most.
const maxDigits = 12

// ParseSize reads a number of bytes with its unit: 512B, 16KiB, 64 MiB, 8GiB.
func ParseSize(text string) (int64, error) {
	unit := strings.TrimLeft(text, "0123456789")
	number := text[:len(text)-len(unit)]
	shift, known := map[string]uint{"B": 0, "KiB": 10, "MiB": 20, "GiB": 30}[strings.TrimPrefix(unit, " ")]
	if !known || number == "" || number[0] == '0' || len(number) > maxDigits {
		return 0, fmt.Errorf("`%s` is not a size: write a whole number with B, KiB, MiB or GiB, such as 64MiB", text)
	}
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil || n > 1<<62>>shift {
		return 0, fmt.Errorf("`%s` is too large a size", text)
	}
	return n << shift, nil
}

// SizeText writes a number of bytes as ParseSize reads it, in its largest whole
// unit: 64 MiB, 1500 B.
func SizeText(bytes int64) string {
	units := []string{"B", "KiB", "MiB", "GiB"}
	unit := 0
	for bytes != 0 && bytes%1024 == 0 && unit < len(units)-1 {
		bytes, unit = bytes/1024, unit+1
	}
	return fmt.Sprintf("%d %s", bytes, units[unit])
}

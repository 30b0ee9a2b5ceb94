package workspace

import "strconv"

// Bounds says what a value of the field must keep to besides its type, each in a few words.
func (f FormField) Bounds() (bounds []string) {
	if low, high := boundText(f.Min), boundText(f.Max); low != "" || high != "" {
		bounds = append(bounds, rangeText(low, high, ""))
	}
	unit := "character"
	if f.Kind == FieldList || f.Kind == FieldJSON {
		unit = "item"
	}
	if low, high := boundText(f.MinLength), boundText(f.MaxLength); low != "" || high != "" {
		if high != "1" && (high != "" || low != "1") {
			unit += "s"
		}
		bounds = append(bounds, rangeText(low, high, " "+unit))
	}
	if f.Pattern != "" {
		bounds = append(bounds, "matches "+f.Pattern)
	}
	return bounds
}

func boundText[T int | float64](bound *T) string {
	if bound == nil {
		return ""
	}
	return strconv.FormatFloat(float64(*bound), 'f', -1, 64)
}

func rangeText(low, high, unit string) string {
	switch {
	case high == "":
		return "at least " + low + unit
	case low == "":
		return "at most " + high + unit
	case low == high:
		return "exactly " + low + unit
	}
	return low + " to " + high + unit
}

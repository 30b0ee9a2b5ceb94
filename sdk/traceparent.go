package sdk

// isTraceparent reports whether text is a W3C trace context of version 00:
// "00-TRACE ID-SPAN ID-FLAGS" in lower-case hex, the ids not all zero. What is
// not is not sent on: a service would drop it, or refuse the request.
func isTraceparent(text string) bool {
	const trace, span, flags = len("00-"), len("00-") + 33, len("00-") + 33 + 17
	if len(text) != flags+2 || text[:trace] != "00-" || text[span-1] != '-' || text[flags-1] != '-' {
		return false
	}
	return isID(text[trace:span-1]) && isID(text[span:flags-1]) && isHex(text[flags:])
}

// isID reports whether text is a hex number that is not 0.
func isID(text string) bool {
	for i := range len(text) {
		if text[i] != '0' {
			return isHex(text)
		}
	}
	return false
}

func isHex(text string) bool {
	for i := range len(text) {
		if c := text[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

package eval

import (
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/schema"
)

// The signs of other products' layouts: those of strftime, and the letters that
// Java, moment and most spreadsheets share.
var (
	percentSign = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`%[-_0^#EO]?[a-zA-Z%]`) })
	letterRun   = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[A-Za-z]+`) })
	letterSigns = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`YYYY|yyyy|YY|yy|MMMM|MMM|MM|M|DD|dddd|ddd|dd|D|d|EEEE|EEE|HH|H|hh|h|mm|m|ss|s|SSSSSS|SSS|A|a|T|ZZ|Z|XXX`)
	})
	certainSign = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`YYYY|yyyy|YY|yy|MM|DD|dd|HH|hh|mm|ss`) })
	quotedPart  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`'([^']*)'|\[([^\]]*)\]`) })
)

func percentLayouts() map[string]string {
	return map[string]string{
		"Y": "2006", "y": "06", "m": "01", "d": "02", "e": "_2", "H": "15", "I": "03", "M": "04", "S": "05", "f": "000000", "p": "PM", "P": "pm",
		"b": "Jan", "h": "Jan", "B": "January", "a": "Mon", "A": "Monday", "j": "002", "Z": "MST", "z": "-0700",
		"F": "2006-01-02", "T": "15:04:05", "R": "15:04", "D": "01/02/06", "%": "%",
	}
}

func letterLayouts() map[string]string {
	return map[string]string{
		"YYYY": "2006", "yyyy": "2006", "YY": "06", "yy": "06", "MMMM": "January", "MMM": "Jan", "MM": "01", "M": "1", "DD": "02", "dd": "02", "D": "2", "d": "2",
		"dddd": "Monday", "ddd": "Mon", "EEEE": "Monday", "EEE": "Mon", "HH": "15", "H": "15", "hh": "03", "h": "3", "mm": "04", "m": "4", "ss": "05", "s": "5",
		"SSSSSS": "000000", "SSS": "000", "A": "PM", "a": "PM", "T": "T", "ZZ": "-0700", "Z": "Z07:00", "XXX": "Z07:00",
	}
}

// foreignLayout returns the first sign in a layout that is another product's and
// stands for itself here, and the layout in the way of the language; "" where that
// can't be said. The sign is "" where there is none.
func foreignLayout(layout string) (sign, translated string) {
	if sign = percentSign().FindString(layout); sign != "" {
		return sign, translatedPercents(layout)
	}
	bare := quotedPart().ReplaceAllString(layout, "")
	for _, run := range letterRun().FindAllString(bare, -1) {
		if certain := certainSign().FindString(run); certain != "" && isSigns(run) {
			return certain, translatedLetters(layout)
		}
	}
	return "", ""
}

func translatedPercents(layout string) string {
	known, sure := percentLayouts(), true
	translated := percentSign().ReplaceAllStringFunc(layout, func(sign string) string {
		part, ok := known[sign[len(sign)-1:]]
		sure = sure && ok
		return part
	})
	if !sure {
		return ""
	}
	return translated
}

// isSigns reports whether a run of letters is made of signs alone.
func isSigns(run string) bool { return letterSigns().ReplaceAllString(run, "") == "" }

func translatedLetters(layout string) string {
	known := letterLayouts()
	var b strings.Builder
	signs := func(text string) {
		b.WriteString(letterRun().ReplaceAllStringFunc(text, func(run string) string {
			if !isSigns(run) {
				return run
			}
			return letterSigns().ReplaceAllStringFunc(run, func(sign string) string { return known[sign] })
		}))
	}
	at := 0
	for _, quoted := range quotedPart().FindAllStringSubmatchIndex(layout, -1) {
		signs(layout[at:quoted[0]])
		b.WriteString(layout[quoted[0]+1 : quoted[1]-1])
		at = quoted[1]
	}
	signs(layout[at:])
	return b.String()
}

// isConstant reports whether a layout gives the same text for each time.
func isConstant(layout string) bool {
	other := time.Date(1987, 11, 23, 21, 43, 56, 987_654_321, time.FixedZone("XYZ", 5400))
	return referenceTime().Format(layout) == other.Format(layout)
}

// layoutAndZone checks the literal arguments of what writes and reads times.
func (k *call) layoutAndZone() *schema.Type {
	layout, ok := k.literal(1)
	if !ok {
		return k.zoned()
	}
	const way = "a layout is the moment Monday, January 2 2006, 15:04:05 as it is to be written"
	issue := k.c.issueOver(k.args[1], CodeConstant, "this layout has no part of a time").hint(`%s, such as "2006-01-02 15:04"`, way)
	sign, translated := foreignLayout(layout)
	switch {
	case sign != "" && translated != "" && !isConstant(translated):
		issue.Message, issue.Hint = "`"+sign+"` stands for itself in a layout", diag.Say("write "+shorten(translated)+": "+way)
	case sign != "":
		issue.Message = "`" + sign + "` stands for itself in a layout"
	case !isConstant(layout):
		return k.zoned()
	}
	return k.c.report(issue)
}

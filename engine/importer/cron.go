package importer

import (
	"fmt"
	"strings"

	"github.com/flowrun/flowrun/engine/schedule/cron"
)

// schedule makes a trigger of a cron expression. Seconds in front are left off where they
// are 0; a zone inside of the text moves out of it. The error says why there is none.
func schedule(source, timezone string) (*value, error) {
	source = strings.TrimSpace(source)
	for _, sign := range []string{"CRON_TZ=", "TZ="} {
		if rest, ok := strings.CutPrefix(source, sign); ok {
			timezone, source, _ = strings.Cut(rest, " ")
			source = strings.TrimSpace(source)
		}
	}
	if every, ok := strings.CutPrefix(source, "@every "); ok {
		return mapping(field("every", bare(strings.TrimSpace(every)))), isDuration(strings.TrimSpace(every))
	}
	fields := strings.Fields(strings.ReplaceAll(source, "?", "*"))
	if len(fields) == 6 && fields[0] == "0" {
		fields = fields[1:]
	}
	source = strings.Join(fields, " ")
	if _, err := cron.Parse(source); err != nil {
		return nil, fmt.Errorf("`%s` is no schedule of five fields", oneLine(source))
	}
	trigger := mapping(field("cron", text(source)))
	if timezone != "" {
		if !knownZone(timezone) {
			return trigger, fmt.Errorf("`%s` is no time zone", oneLine(timezone))
		}
		trigger.add("timezone", text(timezone))
	}
	return trigger, nil
}

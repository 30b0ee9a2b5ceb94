package spec

import (
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
)

func triggerMaps() []Map {
	schedules := []string{string(plan.TriggerCron), string(plan.TriggerEvery)}
	counted := append(schedules[:2:2], string(plan.TriggerPoll))
	all := []Map{
		{Name: "triggers", What: "`triggers`", Names: TriggerPattern, MaxName: MaxName, Not: []string{string(plan.TriggerManual)}, Each: &Key{Map: "trigger", What: "a trigger"}},
		{Name: "trigger", What: "a trigger", Doc: "Exactly one of `cron`, `every`, `webhook`, `poll` and `after`; the other keys stand beside it.", Keys: []Key{
			{Name: "cron", Doc: "Five fields with `L # W`, or a name such as `@daily`.", Type: Text, What: "a schedule of five fields", Makes: string(plan.TriggerCron), Example: "cron: \"0 7 * * MON-FRI\""},
			{Name: "every", Doc: "The time between two slots.", Type: Duration, Least: 1, Makes: string(plan.TriggerEvery), Example: "every: 15m"},
			{Name: "webhook", Doc: "A request fires it.", Map: "webhook", What: "a webhook", Makes: string(plan.TriggerWebhook), Example: "webhook: {auth: {token: …}}"},
			{Name: "poll", Doc: "New or changed items of an action fire it.", Map: "poll", What: "a poll", Makes: string(plan.TriggerPoll), Example: "poll: {uses: …, every: …, items: …, key: …}"},
			{Name: "after", Doc: "The end of another workflow's run fires it.", Map: "after", Makes: string(plan.TriggerAfter), Example: "after: {workflow: NAME}"},
			{Name: "timezone", Doc: "An IANA name.", Type: Text, What: "a time zone", Default: "UTC", Kinds: schedules, Example: "timezone: Europe/Berlin"},
			{Name: "jitter", Doc: "Up to how much a start is put off by chance; no longer than `every`.", Type: Duration, Kinds: schedules, Example: "jitter: 5m"},
			{Name: "dst", Doc: "What becomes of slots where the clock is changed.", Map: "dst", Kinds: schedules, Example: "dst: {skipped_time: skip}"},
			{Name: "catchup", Doc: "Which slots that nobody was there for are still run.", Map: "catchup", Kinds: schedules, Example: "catchup: {window: 1h, keep: latest}"},
			{Name: "pause_after_failures", Doc: "After how many failed runs in a row the trigger pauses; without it never.", Type: Integer, Least: 1, Most: 1_000_000, Kinds: counted},
			{Name: "inputs", Doc: "The run's inputs; each that has no default is given.", Map: "values", Example: "inputs: {NAME: …}"},
		}},
		{Name: "dst", What: "`dst`", Keys: []Key{
			{Name: "skipped_time", Doc: "A slot that the clock leaves out.", Type: Word, What: "a `skipped_time`", Values: []string{"run_after", "skip"}, Default: "run_after"},
			{Name: "repeated_time", Doc: "A slot that comes twice.", Type: Word, What: "a `repeated_time`", Values: []string{"run_once", "run_twice"}, Default: "run_once"},
		}},
		{Name: "catchup", What: "`catchup`", Keys: []Key{
			{Name: "window", Doc: "How far back slots are looked for.", Type: Duration, Default: "1h"},
			{Name: "keep", Doc: "Which of them are run.", Type: Word, What: "a `keep`", Values: []string{"none", "latest", "all"}, Default: "latest"},
		}},
	}
	return append(all, eventMaps()...)
}

// eventMaps are the maps of triggers that something outside fires.
func eventMaps() []Map {
	ends := []string{string(runs.RunSucceeded), string(runs.RunFailed), string(runs.RunCanceled), string(runs.RunTimedOut)}
	status := oneOrMore(Key{Name: "status", Doc: "How that run ended: one or several.", Type: Word, What: "a status that a run ends with", Values: ends, Default: string(runs.RunSucceeded), Some: true})
	return []Map{
		{Name: "webhook", What: "a webhook", Keys: []Key{
			{Name: "auth", Doc: "How the sender shows who it is.", Map: "auth", Needed: true, Example: "auth: {token: ${{ secrets.NAME }}}"},
			{Name: "dedupe", Doc: "Requests with the same text are one run; an empty one counts for itself.", Type: Template, Example: `dedupe: ${{ request.headers["x-event-id"] ?? "" }}`},
			{Name: "body", Doc: "The schema of the body; a request with another is refused.", Map: "schema", Example: "body: {type: object}"},
		}},
		{Name: "auth", What: "`auth`", Doc: "Exactly one of the two.", One: true, Keys: []Key{
			{Name: "hmac_sha256", Doc: "A signature of the body.", Map: "hmac_sha256", Example: "hmac_sha256: {secret: ${{ secrets.NAME }}, header: X-Signature}"},
			{Name: "token", Doc: "A token in the header `Authorization: Bearer`.", Type: Secret, Example: "token: ${{ secrets.NAME }}"},
		}},
		{Name: "hmac_sha256", What: "`hmac_sha256`", Keys: []Key{
			{Name: "secret", Doc: "The key of the signature.", Type: Secret, Needed: true, Example: "secret: ${{ secrets.NAME }}"},
			{Name: "header", Doc: "The header with the signature.", Type: Text, What: "the name of a header", Pattern: HeaderPattern, Needed: true, Example: "header: X-Signature"},
			{Name: "prefix", Doc: "What stands before the signature, such as `sha256=`.", Type: Text, What: "a text", Null: true},
			{Name: "timestamp_header", Doc: "The header with the time that is signed too; an old one is refused.", Type: Text, What: "the name of a header", Pattern: HeaderPattern},
		}},
		{Name: "poll", What: "a poll", Keys: []Key{
			{Name: "uses", Doc: "An action of a plugin that reads or is idempotent.", Type: Text, What: "an action", Needed: true, Example: "uses: tasks.list"},
			{Name: "with", Doc: "Its inputs; secrets and functions can be read.", Map: "values", Example: "with: {project: web}"},
			{Name: "connection", Doc: "A connection of flowrun.yaml, as of a step.", Type: Named},
			{Name: "every", Doc: "Between two polls.", Type: Duration, Least: 1, Needed: true},
			{Name: "items", Doc: "The list, from the outputs as `result`.", Type: Expression, Needed: true, Example: "items: ${{ result.items }}"},
			{Name: "key", Doc: "What tells an `item` from the others; each new one fires.", Type: Expression, Needed: true, Example: "key: ${{ item.id }}"},
		}},
		{Name: "after", What: "`after`", Keys: []Key{
			{Name: "workflow", Doc: "The workflow whose runs are followed, by its name.", Type: Text, What: "the name of a workflow", Needed: true},
			status,
		}},
	}
}

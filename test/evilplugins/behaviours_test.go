//go:build linux

package evilplugins

import "strings"

// behaviour is one thing that a plugin must not do, and what a run of it must come
// to. The plugin's name is the behaviour's.
type behaviour struct {
	name string
	// good says that the fault is none for the run: it must succeed.
	good bool
	// says is a pattern of the error's message, or of stderr where the workflow was
	// refused before it ran.
	says string
	// run is the workflow's second part; "" = one step with the behaviour's timeout.
	run  string
	slow bool // it takes the start or describe limit: 10 to 30 s
}

// timeout is that of the behaviour's one step: short where a timeout is what it must
// come to, else long enough for a busy machine to come to anything else.
func (b behaviour) timeout() string {
	if strings.Contains(b.says, "in time") {
		return "2s"
	}
	return "30s"
}

// behaviours are in the order of a plugin's life.
func behaviours() []behaviour {
	return []behaviour{
		{name: "crashes_at_start", says: `exit status 3.*cannot read my licence`},
		{name: "exits_with_zero", says: `ended without a handshake.*exit status 0`},
		{name: "hangs_at_start", says: `not ready within 10s: thinking`, slow: true},
		{name: "shakes_wrong_hands", says: `speaks protocol version 7; this flowrun speaks 1`},
		{name: "prints_before_the_handshake", good: true},
		{name: "prints_one_endless_line", says: `printed more than 1048576 bytes without a handshake`},
		{name: "listens_on_tcp", says: `only unix sockets are accepted`},
		{name: "names_a_foreign_socket", says: `outside of the folder`},

		{name: "crashes_in_describe", says: `exit status 4`},
		{name: "describes_forever", says: `did not answer in time|deadline|within`, slow: true},
		{name: "lies_about_its_name", says: `calls itself "?healthy|name`},
		{name: "has_a_schema_that_is_no_json", says: `schema`},
		{name: "has_a_schema_of_no_type", says: `banana|schema`},
		{name: "has_a_schema_of_100_mb", says: `bytes|limit|larger|memory`},
		{name: "has_a_bottomless_schema", says: `schema|deep|depth`},
		{name: "crashes_in_connect", says: `exit status 5`},

		{name: "answers_with_a_wrong_type", says: `does not fit the output`},
		{name: "answers_with_unknown_fields", good: true},
		{name: "answers_with_no_json", says: `does not fit the output|JSON`},
		{name: "answers_with_latin_1", says: `byte 12 \(0xe9\) is no UTF-8 at /text`},
		{name: "answers_with_a_name_twice", says: "`text` stands twice"},
		{name: "answers_with_infinity", says: `most readers turn into Infinity at /more`},
		{name: "fails_with_latin_1", says: `^no$`},
		{name: "answers_with_bottomless_json", says: `does not fit the output|deep|depth`},
		{name: "answers_with_100_mb", says: `bytes|larger|limit|out of memory`},
		{name: "fails_with_50_mb", says: `bytes|larger|limit|out of memory`},
		{name: "logs_forever", says: `did not answer in time`},
		{name: "progresses_forever", says: `did not answer in time`},
		{name: "answers_twice", says: `answered the call twice`},
		{name: "answers_never", says: `ended the call without an answer`},
		{name: "answers_too_late", says: `did not answer in time`},
		{name: "repeats_its_cursor", says: `would never end`, run: "steps:\n  - {id: s, uses: %[1]s.act, timeout: 2s, retry: {attempts: 1}, paginate: {max_pages: 1000}}\n"},
		{name: "is_pending_forever", says: `timed out|time`, run: "timeout: 3s\nsteps:\n  - {id: s, uses: %[1]s.act, timeout: 2s, retry: {attempts: 1}}\n"},
		{name: "tells_its_secrets", says: `the key \[redacted\] was refused`},
		{name: "asks_for_what_is_not_its_own", says: `^got 0: $`},
		{name: "reads_its_environment", says: `^found 0: $`},

		{name: "crashes_in_a_call", says: `exit status 2.*panic: my heart`},
		{name: "panics_in_one_call", says: `panic|seven|internal`, run: "steps:\n  - id: all\n    foreach: ${{ 1..64 }}\n    as: n\n    max_parallel: 64\n    steps: [{id: s, uses: %[1]s.act, with: {n: \"${{ n }}\"}, timeout: 10s, retry: {attempts: 1}}]\n"},
		{name: "ignores_cancel", says: `did not answer in time`},
		{name: "ignores_every_signal", says: `did not answer in time`},
		{name: "stops_itself", says: `did not answer in time`},
		{name: "kills_its_group", says: `signal: killed`},
		{name: "forks_without_end", says: `killed by flowrun: it was [0-9]+ processes, 64 are allowed`, run: "steps:\n  - {id: s, uses: %[1]s.act, timeout: 30s, retry: {attempts: 1}}\n"},
		{name: "leaves_a_child_with_its_pipes", says: `exit status 6`},
		{name: "floods_stderr", says: `did not answer in time`},
		{name: "forges_its_stderr", says: `exit status 7`},

		{name: memoryEater, says: `it used [0-9]+ MiB of memory, 2048 MiB are allowed`, run: "steps:\n  - {id: s, uses: %[1]s.act, timeout: 30s, retry: {attempts: 1}}\n"},
		{name: "opens_10000_files", says: `too many open files`},
		{name: "writes_a_huge_file", says: `file too large|SIGXFSZ|signal`},
	}
}

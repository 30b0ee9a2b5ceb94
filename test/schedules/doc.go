// Package schedules kills and restarts a server around the fires of its
// schedules, sets its clock, restores its store, and judges what is stored: each
// slot has one run inside the catch-up window, none outside, and a visible reason
// where it has none (docs/reliability.md, P10).
//
//	FLOWRUN_SCHEDULE_FIRES=1000 go test -v ./test/schedules
package schedules

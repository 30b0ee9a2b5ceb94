// Package cron reads schedules of five fields and tells when they fire. It is
// pure: it has no clock, and the same schedule, time, zone and rule give the
// same answer everywhere.
//
// A schedule is `minute hour day-of-month month day-of-week`, or a name such as
// @daily. A field is `*`, a number, a range `a-b`, each with a step `/n`, or a
// list of them. Months and days of the week have English three-letter names;
// Sunday is 0 and 7. The day of the month also takes L (the last), L-3, LW (the
// last weekday) and 15W (the weekday nearest to the 15th, in its month); the day
// of the week takes 5L (the last Friday) and 5#2 (the second Friday).
//
// When both day fields are limited, a day that suits either of them fires; a
// field that begins with `*` does not limit (as in every cron).
//
// Where minute and hour are numbers or lists of numbers, the schedule has fixed
// wall-clock times, and DST says what becomes of those that a change of the
// clock skips or repeats. Every other schedule fires on each real match.
package cron

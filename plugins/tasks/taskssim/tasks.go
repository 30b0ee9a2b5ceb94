package taskssim

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/flowrun/flowrun/internal/simkit"
)

// historyDays is how far back the completed tasks and the ledger go.
const historyDays = 200

// legacyDays is the age from which tasks have numbers as ids.
const legacyDays = 120

// task is one completed task; its fields are not documented but for those named
// in the resources table.
type task struct {
	ID          any      `json:"id"` // base32 text, for old tasks a number above 2^53
	Content     string   `json:"content"`
	Description string   `json:"description"`
	WorkspaceID int64    `json:"workspace_id"`
	ProjectID   string   `json:"project_id"`
	SectionID   *string  `json:"section_id"`
	ParentID    *string  `json:"parent_id"`
	Labels      []string `json:"labels"`
	Priority    int      `json:"priority"`
	Due         *due     `json:"due"`
	AddedAt     string   `json:"added_at"`
	CompletedAt string   `json:"completed_at"`

	completed time.Time
	project   project
}

type due struct {
	Date        string  `json:"date"`
	String      string  `json:"string"`
	Timezone    *string `json:"timezone"`
	IsRecurring bool    `json:"is_recurring"`
}

// weekly is how many tasks a usual week has on each day, from Sunday on.
var weekly = [7]int{0, 3, 4, 3, 4, 3, 1}

// completed returns tasks that were completed on every day up to now. The week before
// this one was a slow one and the one before that a busy one, so that a comparison of
// weeks has something to say on any day.
func (w *world) completed() []task {
	if w.tasks != nil {
		return w.tasks
	}
	joined := map[int64][]project{}
	for id := range w.workspaces {
		joined[id] = w.joined(id)
	}
	today := w.now.Truncate(24 * time.Hour)
	for ago := historyDays; ago >= 0; ago-- {
		day := today.AddDate(0, 0, -ago)
		for i := range tasksOn(day, today) {
			at := day.Add(8*time.Hour + time.Duration(i*77)*time.Minute + time.Duration(ago%60)*time.Second)
			if !at.After(w.now) {
				w.tasks = append(w.tasks, newTask(joined, at, ago, i))
			}
		}
	}
	slices.Reverse(w.tasks)
	return w.tasks
}

func tasksOn(day, today time.Time) int {
	usual := weekly[day.Weekday()]
	if usual < 2 {
		return usual
	}
	switch weeksBetween(day, today) {
	case 0:
		return usual
	case 1:
		return usual - 1
	case 2:
		return usual + 2
	}
	return usual + simkit.SeedOf("day "+day.Format(time.DateOnly)).Below(3) - 1
}

// weeksBetween counts whole weeks, which begin on Mondays.
func weeksBetween(day, today time.Time) int {
	monday := func(t time.Time) time.Time { return t.AddDate(0, 0, -(int(t.Weekday())+6)%7) }
	return int(monday(today).Sub(monday(day)) / (7 * 24 * time.Hour))
}

var (
	verbs = []string{"Draft", "Review", "Send", "Plan", "Fix", "Update", "Book", "Call about", "Check", "Finish"}
	nouns = []string{"the homepage copy", "the invoice", "the photo selection", "the launch checklist", "the café signage", "the print proof", "the contract", "the survey answers", "the budget", "the press list"}
	tags  = [][]string{{}, {"review"}, {"client-x"}, {"deep-work"}, {"client-y", "review"}, {"client-x", "waiting"}, {}, {"waiting"}, {"spring-sale"}, {"autumn-readers", "review"}, {"client-x", "spring-sale"}}
)

// newTask makes one of the tasks of a moment, in a project that the user has joined.
func newTask(joined map[int64][]project, at time.Time, ago, i int) task {
	key := fmt.Sprintf("task %s %d", at.Format(time.DateOnly), i)
	rnd := simkit.SeedOf(key)
	home := simkit.Pick(rnd, []int64{Brightwater, Brightwater, Brightwater, Northgate, Harbor})
	projects := joined[home]
	p := projects[min(rnd.Below(len(projects)), rnd.Below(len(projects)))] // the first ones are the busiest
	t := task{
		ID: textID(key), Content: simkit.Pick(rnd, verbs) + " " + simkit.Pick(rnd, nouns), WorkspaceID: home, ProjectID: p.ID,
		Labels: simkit.Pick(rnd, tags), Priority: 1 + rnd.Below(4),
		AddedAt: stamp(at.AddDate(0, 0, -1-rnd.Below(20))), CompletedAt: stamp(at), completed: at, project: p,
	}
	if ago > legacyDays {
		t.ID = json.Number(strconv.FormatInt(bigID(key), 10))
	}
	if rnd.Below(5) == 0 && slices.Contains(t.Labels, "client-x") {
		t.Content += " @client-x"
	}
	if rnd.Below(3) == 0 {
		section := simkit.Pick(rnd, p.Sections)
		t.SectionID = &section
	}
	if rnd.Below(6) == 0 {
		parent := textID("parent of " + p.ID)
		t.ParentID = &parent
	}
	if rnd.Below(4) > 0 {
		on := at.AddDate(0, 0, 1-rnd.Below(4)) // from two days late to one day early
		t.Due = &due{Date: on.Format(time.DateOnly), String: strings.ToLower(on.Format("2 Jan")), IsRecurring: rnd.Below(5) == 0}
	}
	return t
}

// dueAt is the moment of the due date: a day without a time begins at midnight
// UTC.
func (t task) dueAt() (time.Time, bool) {
	if t.Due == nil {
		return time.Time{}, false
	}
	at, err := time.Parse(time.DateOnly, t.Due.Date)
	return at, err == nil
}

package taskssim

import (
	"fmt"
	"strconv"
	"time"

	"github.com/flowrun/flowrun/internal/simkit"
)

// Ids of the workspaces. One is above 2^53, so that a client that reads numbers
// as floats is found out.
const (
	Brightwater int64 = 40317            // the user is an admin
	Northgate   int64 = 9007199254741121 // a member
	Harbor      int64 = 52088            // a guest
)

// Codes of invitations that the user got by mail, and one that belongs to
// somebody else (T-10).
const (
	LanternCode = "Lantern_7Qd2xV-e41c"
	QuarryCode  = "Quarry/9 b+7%2F" // needs escaping in a path
	OthersCode  = "Others_55aa-0c2d"
)

// user is who the credential stands for.
const user = "robin@brightwater.example"

// role of the user in a workspace.
type role string

const (
	admin  role = "admin"
	member role = "member"
	guest  role = "guest"
)

type workspace struct {
	id               int64
	name             string
	role             role
	active, archived int // how many projects
}

// world is all that the service knows. Guarded by Sim.mu.
type world struct {
	now         time.Time
	workspaces  map[int64]workspace
	projects    []project
	tasks       []task // newest completion first; nil until somebody asks (completed)
	ledger      []entry
	invitations []invitation
	labels      map[string]int // shared label -> active tasks that carry it
	tokens      map[string]bool
	serial      int
}

func newWorld(now time.Time) *world {
	w := &world{
		now: now.UTC(), tokens: map[string]bool{},
		workspaces: map[int64]workspace{
			Brightwater: {Brightwater, "Brightwater Studio", admin, 12, 130},
			Northgate:   {Northgate, "Northgate Collective", member, 9, 24},
			Harbor:      {Harbor, "Harbor Volunteers", guest, 6, 5},
		},
		labels: map[string]int{"client-x": 14, "client-y": 9, "review": 22, "wating": 3, "waiting": 11, "deep-work": 17, "spring-sale": 6, "autumn-readers": 4},
	}
	for _, id := range []int64{Brightwater, Northgate, Harbor} {
		w.addProjects(w.workspaces[id])
	}
	w.addLedger()
	w.addInvitations()
	return w
}

// project is one record; its fields are not documented (T-14).
type project struct {
	ID          string   `json:"id"`
	Name        string   `json:"name"`
	WorkspaceID int64    `json:"workspace_id"`
	Color       string   `json:"color"`
	IsArchived  bool     `json:"is_archived"`
	IsJoined    bool     `json:"is_joined"`
	CreatedAt   string   `json:"created_at"`
	ArchivedAt  *string  `json:"archived_at"`
	Sections    []string `json:"section_ids"`
}

// projectNames are the active projects, by workspace; the archived ones have
// made-up numbers.
var projectNames = map[int64][]string{
	Brightwater: {"Website", "Brand refresh", "Client X retainer", "Client Y launch", "Invoices", "Studio", "Photography", "Newsletter", "Hiring", "Research", "Travel", "Inbox"},
	Northgate:   {"Festival", "Grants", "Venue", "Volunteers", "Press", "Bookkeeping", "Workshops", "Archive scans", "Board"},
	Harbor:      {"Beach clean-up", "Food bank", "Kids' day", "Boat repairs", "Donations", "Schedule"},
}

var colors = []string{"berry_red", "orange", "olive_green", "teal", "sky_blue", "grape", "charcoal", "taupe"}

func (w *world) addProjects(in workspace) {
	today := w.now.Truncate(24 * time.Hour)
	for i := range in.active + in.archived {
		archived := i >= in.active
		name := fmt.Sprintf("Job %d-%03d", 2019+i%6, i)
		if !archived {
			name = projectNames[in.id][i]
		}
		key := fmt.Sprintf("project %d %d", in.id, i)
		rnd := simkit.SeedOf(key)
		p := project{
			ID: textID(key), Name: name, WorkspaceID: in.id, Color: simkit.Pick(rnd, colors), IsArchived: archived,
			// the user sees some projects without having joined them; a guest joins few
			IsJoined:  in.role == admin || i%3 != 2 && in.role == member || in.role == guest && i < 2,
			CreatedAt: stamp(today.AddDate(0, 0, -400-rnd.Below(900))),
			Sections:  []string{textID(key + " planning"), textID(key + " doing")},
		}
		if i%4 == 3 {
			p.ID = strconv.FormatInt(bigID(key), 10) // of an older kind: digits only
		}
		if archived {
			at := stamp(today.AddDate(0, 0, -20-rnd.Below(300)))
			p.ArchivedAt = &at
		}
		w.projects = append(w.projects, p)
	}
}

// joined returns the user's active projects of a workspace.
func (w *world) joined(id int64) []project {
	var list []project
	for _, p := range w.projects {
		if p.WorkspaceID == id && !p.IsArchived && p.IsJoined {
			list = append(list, p)
		}
	}
	return list
}

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000000Z") }

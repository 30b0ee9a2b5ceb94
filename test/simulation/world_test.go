package simulation

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
)

// world is what is outside of the engine: services and people. In a calm world
// the answer to a call follows from its operation path, attempt and checkpoint
// and from how often somebody repaired the world since (era), so that it does not
// depend on the schedule. In another one each sending of a call has an answer of
// its own.
type world struct {
	seed uint64
	flow *flow
}

// asked is a call as a service sees it.
type asked struct {
	path       string // of the operation
	action     string
	attempt    int
	checkpoint string
	cursor     string // of the page
	n          int
	era        int
	sending    int // which sending of this operation it is; 0 in a calm world
}

// reply is what a service does.
type reply struct {
	pending    bool
	checkpoint string
	silent     bool // no answer comes
	broken     bool // the output breaks its schema
	kind       plan.ErrorKind
	applied    runs.Applied
	http       int
	after      float64 // retry_after, seconds

	value int
	rows  []any
	next  string
	mark  string // watermark
}

// lastEra is the one in which the person gives up; the services fail in the first
// two only.
const lastEra = 3

func (w *world) reply(a asked) reply {
	h := func(words ...any) uint64 { return hashOf(w.seed, append(words, a.path, a.era, a.sending)...) }
	troubled := a.era < 2 && h("troubled")%4 == 0
	this := hashOf(w.seed, "this", a.path, a.era, a.sending, a.attempt, a.checkpoint)
	polls := len(a.checkpoint)
	switch {
	case polls < 2 && this%11 == 0:
		return reply{pending: true, checkpoint: a.checkpoint + "p"}
	case troubled && h("dead")%3 == 0:
		return w.failure(h("kind"), a)
	case troubled && this>>8%3 > 0:
		return w.failure(this>>16, a)
	}
	return w.good(a)
}

// failure is one way to fail.
func (w *world) failure(x uint64, a asked) reply {
	switch x % 16 {
	case 0:
		return reply{silent: true}
	case 1:
		return reply{broken: true}
	}
	kinds := []plan.ErrorKind{
		plan.KindUnavailable, plan.KindUnavailable, plan.KindRateLimited, plan.KindTimeout, plan.KindCrashed, plan.KindNotFound,
		plan.KindUnexpectedResponse, plan.KindInvalid, plan.KindForbidden, plan.KindConflict, plan.KindQuotaExhausted,
		plan.KindDenied, plan.KindExpired, plan.KindUnsupported, plan.KindInternal, plan.KindUnauthorized,
		plan.KindAuthRequired,
	}
	r := reply{kind: kinds[x>>4%uint64(len(kinds))]}
	if a.cursor != "" && x>>12%2 == 0 {
		r.kind = plan.KindCursorExpired
	}
	if r.kind == plan.KindAuthRequired && w.flow.calm && !w.flow.resumable {
		r.kind = plan.KindForbidden
	}
	switch r.kind {
	case plan.KindUnavailable:
		r.http = []int{0, 503, 502}[x>>20%3]
	case plan.KindRateLimited:
		r.http, r.after = 429, float64(x>>20%40)
	}
	applied := []runs.Applied{"", runs.AppliedUnknown, runs.NotApplied, runs.AppliedFully, runs.AppliedPartly}
	r.applied = applied[x>>24%3]
	if !w.flow.calm {
		r.applied = applied[x>>24%5]
	}
	return r
}

// good is a success: the same one in every era.
func (w *world) good(a asked) reply {
	base, page := a.path, 1
	if i := strings.Index(base, "#page"); i >= 0 {
		base = base[:i]
	}
	if a.cursor != "" {
		page, _ = strconv.Atoi(a.cursor[1:])
	}
	h := hashOf(w.seed, "good", a.path, a.sending)
	round := 1
	if _, after, ok := strings.Cut(a.path, "#round"); ok {
		digits, _, _ := strings.Cut(after, "#")
		round, _ = strconv.Atoi(digits)
	}
	r := reply{value: int(h%97+uint64(a.n)*7)%97 + 40*(round-1), rows: []any{}, mark: "w" + strconv.FormatUint(h>>8%1000, 10)}
	for i := range h >> 16 % 3 {
		r.rows = append(r.rows, int(h>>(20+4*i)%20))
	}
	if pages := int(1 + hashOf(w.seed, "pages", base)%4); page < pages {
		r.next = "c" + strconv.Itoa(page+1)
		if page == 2 && hashOf(w.seed, "circle", base)%10 == 0 {
			r.next = "c2"
		}
	}
	return r
}

// happened is the truth about an effect whose outcome the engine does not know.
func (w *world) happened(a asked) bool {
	r := w.reply(a)
	switch r.kind {
	case "":
		if !r.silent {
			return !r.pending // it ended well, though perhaps with an unreadable answer
		}
	case plan.KindUnavailable, plan.KindTimeout, plan.KindCrashed, plan.KindUnexpectedResponse, plan.KindInternal:
		if r.applied == runs.NotApplied {
			return false
		}
	default:
		return r.applied == runs.AppliedFully || r.applied == runs.AppliedPartly
	}
	return hashOf(w.seed, "truth", a.path, a.attempt)%2 == 0
}

// child is the end of a sub-workflow's run.
type childEnd struct {
	out    int
	kind   plan.ErrorKind // "" = it succeeded
	paused bool
}

func (w *world) child(path string, n, era int) childEnd {
	h := hashOf(w.seed, "child", path, era)
	if era < 2 && h%5 == 0 {
		end := childEnd{kind: []plan.ErrorKind{plan.KindInternal, plan.KindNotFound, plan.KindTimeout}[h>>8%3]}
		end.paused = h>>16%3 == 0 && (w.flow.resumable || !w.flow.calm)
		return end
	}
	return childEnd{out: int(hashOf(w.seed, "out", path)%97+uint64(n)) % 97}
}

// word is what a person says to a step that waits for one.
type word struct {
	nobody bool // until the step's timeout
	reject bool
	v      int
}

func (w *world) word(n *node, path string, era int) word {
	h := hashOf(w.seed, "word", path, era)
	word := word{v: int(h >> 8 % 50)}
	if n.match {
		word.v = 7
	}
	if n.kind == nodeApprove && era < 2 {
		word.nobody = n.timeout > 0
		word.reject = !word.nobody && h%4 == 0
	} else if n.timeout > 0 && w.flow.calm {
		word.nobody = true
	}
	return word
}

// wantsResume says whether the person goes on with a run that failed.
func (w *world) wantsResume(era int) bool {
	return w.flow.resumable && era < lastEra && hashOf(w.seed, "again", era)%2 == 0
}

func (r reply) String() string {
	switch {
	case r.pending:
		return "pending " + r.checkpoint
	case r.silent:
		return "silence"
	case r.broken:
		return "an unreadable answer"
	case r.kind != "":
		return fmt.Sprintf("%s %s %d", r.kind, r.applied, r.http)
	}
	return fmt.Sprintf("ok %d %v %s", r.value, r.rows, r.next)
}

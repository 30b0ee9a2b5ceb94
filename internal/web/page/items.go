package page

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/flowrun/flowrun/engine/runs"
)

// How many items of a loop a page shows: all of a short loop, else the failed
// ones, until more are asked for.
const (
	shortLoop   = 8
	failedItems = 8
	itemsPage   = 100
	mostPages   = 20 // each has its link, so that no item is further away than two
)

// itemOrder are the statuses as their items come: what needs a look first.
var itemOrder = []runs.StepStatus{
	runs.StepFailed, runs.StepUnknown, runs.StepRetrying, runs.StepRunning, runs.StepWaiting, runs.StepCanceled, runs.StepBlocked,
	runs.StepPending, runs.StepSkipped, runs.StepSucceeded,
}

// isBad reports whether somebody should look at a step.
func isBad(status runs.StepStatus) bool {
	return status == runs.StepFailed || status == runs.StepUnknown
}

// loopItems are the items of a loop, those that failed first, else in their own
// order.
type loopItems struct {
	items  []*item
	counts []count // in the order of the items
	absent int     // that have not begun
}

func newLoopItems(n *node) *loopItems {
	l := &loopItems{items: slices.Clone(n.items), absent: max(n.step.Items-len(n.items), 0)}
	number := map[runs.StepStatus]int{}
	for _, one := range l.items {
		number[one.status]++
	}
	slices.SortStableFunc(l.items, func(a, b *item) int {
		return cmp.Compare(slices.Index(itemOrder, a.status), slices.Index(itemOrder, b.status))
	})
	l.counts = countsOf(number, itemOrder)
	return l
}

// countsOf are the statuses that there are, in an order.
func countsOf(number map[runs.StepStatus]int, order []runs.StepStatus) []count {
	var counts []count
	for _, status := range order {
		if number[status] > 0 {
			counts = append(counts, count{status, number[status]})
		}
	}
	return counts
}

// bad is how many items need a look.
func (l *loopItems) bad() (n int) {
	for _, c := range l.counts {
		if isBad(c.Status) {
			n += c.N
		}
	}
	return n
}

// of are the items of a status; "" = all.
func (l *loopItems) of(status runs.StepStatus) []*item {
	if status == "" {
		return l.items
	}
	var list []*item
	for _, one := range l.items {
		if one.status == status {
			list = append(list, one)
		}
	}
	return list
}

// words counts the items: "600 items: 16 failed, 584 succeeded".
func (l *loopItems) words() string {
	return plural(len(l.items)+l.absent, "item") + ": " + countWords(l.counts, l.absent)
}

// countWords says how many have which status.
func countWords(counts []count, absent int) string {
	var parts []string
	for _, c := range counts {
		parts = append(parts, fmt.Sprintf("%d %s", c.N, c.Status))
	}
	if absent > 0 {
		parts = append(parts, fmt.Sprintf("%d not begun", absent))
	}
	return strings.Join(parts, ", ")
}

// itemsAsked is which items of a loop an address asks for.
type itemsAsked struct {
	show runs.StepStatus // "" = all
	from int             // the index of the first one
}

// readItemsAsked reads an address. What it can't mean is as if it was not there.
func readItemsAsked(query url.Values) itemsAsked {
	asked := itemsAsked{show: runs.StepStatus(query.Get("show"))}
	if !slices.Contains(itemOrder, asked.show) {
		asked.show = ""
	}
	from, err := strconv.Atoi(query.Get("from"))
	if err == nil && from > 0 {
		asked.from = from
	}
	return asked
}

func (a itemsAsked) set(query url.Values) url.Values {
	if a.show != "" {
		query.Set("show", string(a.show))
	}
	if a.from > 0 {
		query.Set("from", strconv.Itoa(a.from))
	}
	return query
}

// pageLength is how many of so many items one page shows.
func pageLength(items int) int {
	least := (items + mostPages - 1) / mostPages
	return max(itemsPage, (least+itemsPage-1)/itemsPage*itemsPage)
}

// page are the items of the page that is asked for.
func (l *loopItems) page(asked itemsAsked) []*item {
	list := l.of(asked.show)
	length := pageLength(len(list))
	from := min(asked.from, max(len(list)-1, 0)) / length * length
	return list[from:min(from+length, len(list))]
}

// links lead to the items of each status, and to each page of those that are asked
// for. now is what is shown; nil = none of it.
func (l *loopItems) links(path func(itemsAsked) string, now *itemsAsked) []tab {
	var links []tab
	add := func(asked itemsAsked, text string) {
		links = append(links, tab{Path: path(asked), Text: text, Current: now != nil && *now == asked})
	}
	for _, c := range l.counts {
		if c.N < len(l.items) {
			add(itemsAsked{show: c.Status}, fmt.Sprintf("%d %s", c.N, c.Status))
		}
	}
	add(itemsAsked{}, "all "+plural(len(l.items), "item"))
	asked := itemsAsked{}
	if now != nil {
		asked.show = now.show
	}
	list := l.of(asked.show)
	length := pageLength(len(list))
	if len(list) <= length {
		return links
	}
	for from := 0; from < len(list); from += length {
		asked.from = from
		add(asked, fmt.Sprintf("%d–%d", from+1, min(from+length, len(list))))
	}
	return links
}

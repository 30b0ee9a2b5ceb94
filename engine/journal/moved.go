package journal

import "fmt"

// MovedError says that a state value or a cursor has another version than the
// one that a run read, so that the run's success can't be stored.
type MovedError struct {
	What string // "state" or "cursor"
	Name string
	By   string // the person or the run that changed it; "" = it was reset
}

func (e *MovedError) Error() string {
	text := fmt.Sprintf("the %s `%s` was changed since the run read it", e.What, e.Name)
	if e.By != "" {
		text += ", by " + e.By
	}
	return text
}

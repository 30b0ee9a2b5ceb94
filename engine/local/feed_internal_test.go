package local

import "testing"

// TestIssue12_24WatchersShareTheTextOfAnUpdate: with one watcher alone there is
// nothing to share.
func TestIssue12_24WatchersShareTheTextOfAnUpdate(t *testing.T) {
	for _, watchers := range []int{1, 3} {
		f, all := newFeed(), []*watcher{}
		for range watchers {
			w := newWatcher()
			f.add(w)
			all = append(all, w)
		}
		f.send(Update{Kind: UpdateWait, Path: "a"})
		f.send(Update{Kind: UpdateWait, Path: "b"})
		written := 0
		for _, w := range all {
			for i, update := range w.queue {
				text, err := update.Text(func(u Update) ([]byte, error) {
					written++
					return []byte(u.Path), nil
				})
				if want := string("ab"[i]); string(text) != want || err != nil || update.Path != want {
					t.Errorf("%s, %v, want %s", text, err, want)
				}
			}
		}
		if written != 2 {
			t.Errorf("%d watchers: written %d times", watchers, written)
		}
	}
}

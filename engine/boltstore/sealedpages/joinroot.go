package sealedpages

// The names of the buckets that JoinRoot makes for a moment: none comes before the first
// one or behind the last one.
const (
	beforeAll = "\x00"
	behindAll = "\xff"
)

// JoinRoot lets the commit of the transaction put the names of all buckets into one page
// again where they fit. bbolt cuts that page when small buckets that lie in it have grown,
// and joins its halves only when names are removed: what lay in them may have pages of its
// own long since, and each commit would write the branch above the halves for good. Where
// the page was not cut, it does nothing; where all does not fit into one, the halves are
// cut anew.
func (t *Tx) JoinRoot() error {
	top, err := t.raw.Page(int(t.Root()))
	if err != nil || top == nil || top.Type != "branch" {
		return err
	}
	// A half is joined with its neighbour when a name was removed from it and less than half
	// of what a page is filled to is left.
	t.raw.Cursor().Bucket().FillPercent = 1
	for _, name := range []string{beforeAll, behindAll} {
		if _, err := t.CreateBucket([]byte(name)); err != nil {
			return err
		}
		if err := t.DeleteBucket([]byte(name)); err != nil {
			return err
		}
	}
	return nil
}

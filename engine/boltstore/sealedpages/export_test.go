package sealedpages

// KindOfRoot is what the page is that names the buckets: leaf, or branch.
func KindOfRoot(t *Tx) string {
	page, err := t.raw.Page(int(t.Root()))
	if err != nil || page == nil {
		return "none"
	}
	return page.Type
}

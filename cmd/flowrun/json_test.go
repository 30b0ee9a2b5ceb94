package main_test

import "encoding/json"

// firstID returns the id of the first item of a list, "" when there is none.
func firstID(list string) string {
	var page struct{ Items []struct{ ID string } }
	if json.Unmarshal([]byte(list), &page) != nil || len(page.Items) == 0 {
		return ""
	}
	return page.Items[0].ID
}

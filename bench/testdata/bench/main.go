// Command bench is the plugin of the scenarios: it answers at once, and gives a table by
// pages.
package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/flowrun/flowrun/sdk"
)

type echo struct {
	N int `json:"n" doc:"Returned as it is"`
}

type table struct {
	Rows  int64   `json:"rows" doc:"How many rows there are" min:"1"`
	Pages int64   `json:"pages" doc:"On how many pages they stand" min:"1"`
	Page  *string `json:"page,omitempty" doc:"The number of the page"`
}

type row struct {
	ID      int64   `json:"id" doc:"Its place, from 1"`
	Name    string  `json:"name" doc:"Of the customer"`
	Email   string  `json:"email" doc:"Of the customer"`
	City    string  `json:"city" doc:"Where the customer is"`
	Country string  `json:"country" doc:"Of the city"`
	Amount  float64 `json:"amount" doc:"What was paid"`
	Paid    bool    `json:"paid" doc:"Whether it was paid"`
	Note    string  `json:"note" doc:"A text"`
}

type page struct {
	Rows []row   `json:"rows" doc:"The rows of the page"`
	Next *string `json:"next_cursor" doc:"The number of the next page"`
}

func same(_ *sdk.Call[struct{}], in echo) (echo, error) { return in, nil }

func list(c *sdk.Call[struct{}], in table) (page, error) {
	number := int64(1)
	if cursor := c.PageAt(in.Page); cursor != "" {
		var err error
		if number, err = strconv.ParseInt(cursor, 10, 64); err != nil {
			return page{}, sdk.Invalid("/page", "must be a number")
		}
	}
	size := (in.Rows + in.Pages - 1) / in.Pages
	out := page{Rows: make([]row, 0, size)}
	for id := (number-1)*size + 1; id <= min(number*size, in.Rows); id++ {
		out.Rows = append(out.Rows, rowOf(id))
	}
	if number*size < in.Rows {
		next := strconv.FormatInt(number+1, 10)
		out.Next = &next
		c.Next(next)
	}
	return out, nil
}

// rowOf makes a row of 300 bytes.
func rowOf(id int64) row {
	return row{
		ID: id, Name: fmt.Sprintf("Customer %06d", id), Email: fmt.Sprintf("customer.%06d@example.org", id), City: fmt.Sprintf("City %03d", id%500),
		Country: []string{"AT", "CH", "DE", "FR"}[id%4], Amount: float64(id%10_000) / 4, Paid: id%10 != 0, Note: strings.Repeat("note ", 32),
	}
}

func main() {
	sdk.New("bench", "1.0.0", "Answers at once",
		sdk.Read("read", "Return n", same),
		sdk.Keyed("write", "Return n; counts as a write", same),
		sdk.Read("list", "List the rows of a table", list, sdk.Paged("page", "rows", "next_cursor"), sdk.ItemsNamedBy("id")),
	).Serve()
}

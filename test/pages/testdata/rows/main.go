// Command rows is a plugin that gives a table by pages, as large as it is asked to.
package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/flowrun/flowrun/sdk"
)

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

type entry struct {
	ID    int64  `json:"id" doc:"Of the row"`
	Email string `json:"email" doc:"Of the customer"`
}

type batch struct {
	Rows []entry `json:"rows" doc:"The rows to store"`
}

type stored struct {
	Count int64 `json:"count" doc:"How many rows were stored"`
}

func list(c *sdk.Call[struct{}], in table) (page, error) {
	number := int64(1)
	if cursor := c.PageAt(in.Page); cursor != "" {
		var err error
		if number, err = strconv.ParseInt(cursor, 10, 64); err != nil {
			return page{}, sdk.Invalid("/page", "must be a number")
		}
	}
	size := (in.Rows + in.Pages - 1) / in.Pages
	first, last := (number-1)*size+1, min(number*size, in.Rows)
	out := page{Rows: make([]row, 0, size)}
	for id := first; id <= last; id++ {
		out.Rows = append(out.Rows, rowOf(id))
	}
	if last < in.Rows {
		next := strconv.FormatInt(number+1, 10)
		out.Next = &next
		c.Next(next)
	}
	return out, nil
}

// rowOf makes a row of about 250 bytes.
func rowOf(id int64) row {
	return row{
		ID: id, Name: fmt.Sprintf("Customer %06d", id), Email: fmt.Sprintf("customer.%06d@example.org", id), City: "City " + strconv.FormatInt(id%500, 10),
		Country: []string{"AT", "CH", "DE", "FR"}[id%4], Amount: float64(id%10_000) / 4, Paid: id%10 != 0, Note: strings.Repeat("note ", 15),
	}
}

func main() {
	sdk.New("rows", "1.0.0", "A table by pages",
		sdk.Read("list", "List the rows", list, sdk.Paged("page", "rows", "next_cursor"), sdk.ItemsNamedBy("id")),
		sdk.Idempotent("store", "Store rows", func(_ *sdk.Call[struct{}], in batch) (stored, error) { return stored{int64(len(in.Rows))}, nil }),
	).Serve()
}

package dictionary

import (
	"strconv"

	"github.com/flowrun/flowrun/sdk"
)

// AbbrInput is the input of abbr. That ids begin with 1 is our choice (D-10).
type AbbrInput struct {
	ID int64 `json:"id" min:"1" doc:"Id of the abbreviation." example:"1"`
}

// abbrRecord is the record of /abbr/{id} (D-11).
type abbrRecord struct {
	ID         int64   `json:"id"`
	Abbr       string  `json:"abbr"`
	Full       *string `json:"full"`
	PRC        *string `json:"prc"`
	Meaning    *string `json:"meaning"`
	CategoryID *int64  `json:"category_id"`
	URL        *string `json:"url"`
}

// abbr is action dictionary.abbr: the record as the service wrote it.
func (s *service) abbr(c *sdk.Call[Config], in AbbrInput) (sdk.Value, error) {
	found, err := s.get(c, nil, "abbr", strconv.FormatInt(in.ID, 10))
	if err != nil {
		return nil, err
	}
	_, err = record[abbrRecord](found, "id", "abbr")
	return found.data, err
}

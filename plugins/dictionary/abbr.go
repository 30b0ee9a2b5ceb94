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
	ID         int64   `json:"id" doc:"Id of the abbreviation."`
	Abbr       string  `json:"abbr" doc:"The abbreviation."`
	Full       *string `json:"full,omitempty" doc:"Full English form."`
	PRC        *string `json:"prc,omitempty" doc:"Chinese meaning."`
	Meaning    *string `json:"meaning,omitempty" doc:"Meaning."`
	CategoryID *int64  `json:"category_id,omitempty" doc:"Id of its category."`
	URL        *string `json:"url,omitempty" doc:"Page of the abbreviation."`
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

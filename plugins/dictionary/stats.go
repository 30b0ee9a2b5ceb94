package dictionary

import (
	"net/url"

	"github.com/flowrun/flowrun/sdk"
)

// statsRecord is the record of /stats (D-16).
type statsRecord struct {
	WordCount    int64 `json:"word_count" doc:"Words."`
	AbbrCount    int64 `json:"abbr_count" doc:"Abbreviations."`
	SceneCount   int64 `json:"scene_count" doc:"Scenes."`
	CatWordCount int64 `json:"cat_word_count" doc:"Words in categories."`
}

// stats is action dictionary.stats.
func (s *service) stats(c *sdk.Call[Config], _ sdk.NoInput) (sdk.Value, error) {
	found, err := s.get(c, nil, "stats")
	if err != nil {
		return nil, err
	}
	_, err = record[statsRecord](found, "word_count", "abbr_count", "scene_count", "cat_word_count")
	return found.data, err
}

// SearchInput is the input of search.
type SearchInput struct {
	Q string `json:"q" min:"1" doc:"What to search for." example:"happy"`
}

// SearchOutput is the output of search: the records' shape is not documented.
type SearchOutput struct {
	Words sdk.Value `json:"words" doc:"What the service found, as it gives it; its shape is not documented."`
}

// search is action dictionary.search. The one documented type is sent (D-17).
func (s *service) search(c *sdk.Call[Config], in SearchInput) (SearchOutput, error) {
	found, err := s.get(c, url.Values{"q": {in.Q}, "type": {"word"}}, "search")
	if err != nil {
		return SearchOutput{}, err
	}
	fields, isObject := sdk.ReadMembers(found.data)
	words := fields.Get("words")
	switch {
	case !isObject:
		return SearchOutput{}, found.response.Fail(sdk.CodeUnexpectedResponse, "`data` is no object")
	case words == nil:
		return SearchOutput{}, found.response.Fail(sdk.CodeUnexpectedResponse, "the record has no `words`")
	}
	return SearchOutput{Words: words}, nil
}

package dictionary

import (
	"github.com/flowrun/flowrun/sdk"
)

// WordInput is the input of word, synonyms and antonyms.
type WordInput struct {
	Word string `json:"word" min:"1" doc:"The word, in any letter case; spaces are kept." example:"happy"`
}

// wordRecord is the record of /word/{word} (D-07).
type wordRecord struct {
	ID       int64   `json:"id"`
	Word     string  `json:"word"`
	British  *string `json:"british"`
	American *string `json:"american"`
	CX       *string `json:"cx"`
	JBJS     *string `json:"jbjs"`
	URL      *string `json:"url"`
}

// relatedWord is an element of synonyms and antonyms (D-08).
type relatedWord struct {
	ID   int64   `json:"id"`
	Word string  `json:"word"`
	CX   *string `json:"cx"`
}

// word is action dictionary.word: the record as the service wrote it.
func (s *service) word(c *sdk.Call[Config], in WordInput) (sdk.Value, error) {
	found, err := s.get(c, nil, "word", in.Word)
	if err != nil {
		return nil, err
	}
	_, err = record[wordRecord](found, "id", "word")
	return found.data, err
}

// synonyms is action dictionary.synonyms.
func (s *service) synonyms(c *sdk.Call[Config], in WordInput) (sdk.Value, error) {
	return s.related(c, in.Word, "synonyms")
}

// antonyms is action dictionary.antonyms.
func (s *service) antonyms(c *sdk.Call[Config], in WordInput) (sdk.Value, error) {
	return s.related(c, in.Word, "antonyms")
}

// related asks for a word's list, which has the name of its path (D-08, D-09).
// An empty list is a success, and a null one counts as empty.
func (s *service) related(c *sdk.Call[Config], word, list string) (sdk.Value, error) {
	found, err := s.get(c, nil, "word", word, list)
	if err != nil {
		return nil, err
	}
	type relatedRecord struct {
		Word     string        `json:"word"`
		Synonyms []relatedWord `json:"synonyms"`
		Antonyms []relatedWord `json:"antonyms"`
		Count    *int64        `json:"count"`
	}
	if _, err := record[relatedRecord](found, "word", "count"); err != nil {
		return nil, err
	}
	fields, _ := sdk.ReadMembers(found.data)
	switch words := fields.Get(list); {
	case words == nil:
		return nil, found.response.Fail(sdk.CodeUnexpectedResponse, "the record has no `%s`", list)
	case sdk.IsNull(words):
		return fields.With(list, sdk.Value("[]")).JSON(), nil
	}
	return found.data, nil
}

// wordProblems refuses the words that a path can't carry (D-06).
func wordProblems(in WordInput, unknown []string) []sdk.Problem {
	if sdk.IsUnknown(unknown, "/word") {
		return nil
	}
	if in.Word == "." || in.Word == ".." {
		return []sdk.Problem{sdk.Problemf("/word", "must not be %q", in.Word).WithDetail("in a path these stand for other resources")}
	}
	return nil
}

package dictionary

import (
	"github.com/flowrun/flowrun/sdk"
)

// WordInput is the input of word, synonyms and antonyms.
type WordInput struct {
	Word string `json:"word" min:"1" doc:"The word, in any letter case; spaces are kept." example:"happy"`
}

// The records are passed on as the service wrote them, so that fields it adds
// later are kept. Texts may be null: the service's document does not promise
// phonetics and definitions for every word.

// wordRecord is the record of /word/{word} (D-07).
type wordRecord struct {
	ID       int64   `json:"id" doc:"Id of the word."`
	Word     string  `json:"word" doc:"The word."`
	British  *string `json:"british,omitempty" doc:"British phonetic transcription."`
	American *string `json:"american,omitempty" doc:"American phonetic transcription."`
	CX       *string `json:"cx,omitempty" doc:"Parts of speech."`
	JBJS     *string `json:"jbjs,omitempty" doc:"Basic definitions in Chinese."`
	URL      *string `json:"url,omitempty" doc:"Page of the word."`
}

// relatedWord is an element of synonyms and antonyms.
type relatedWord struct {
	ID   int64   `json:"id" doc:"Id of the word."`
	Word string  `json:"word" doc:"The word."`
	CX   *string `json:"cx,omitempty" doc:"Parts of speech."`
}

// synonymsRecord is the record of /word/{word}/synonyms (D-08).
type synonymsRecord struct {
	Word     string        `json:"word" doc:"The word that was asked for."`
	Synonyms []relatedWord `json:"synonyms" doc:"The synonyms; may be empty."`
	Count    int64         `json:"count" doc:"How many there are, as the service counts them."`
}

// antonymsRecord is the record of /word/{word}/antonyms (D-09).
type antonymsRecord struct {
	Word     string        `json:"word" doc:"The word that was asked for."`
	Antonyms []relatedWord `json:"antonyms" doc:"The antonyms; may be empty."`
	Count    int64         `json:"count" doc:"How many there are, as the service counts them."`
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
	return related[synonymsRecord](s, c, in.Word, "synonyms")
}

// antonyms is action dictionary.antonyms.
func (s *service) antonyms(c *sdk.Call[Config], in WordInput) (sdk.Value, error) {
	return related[antonymsRecord](s, c, in.Word, "antonyms")
}

// related asks for a word's list, which has the name of its path (D-08, D-09).
// An empty list is a success, and a null one counts as empty.
func related[T any](s *service, c *sdk.Call[Config], word, list string) (sdk.Value, error) {
	found, err := s.get(c, nil, "word", word, list)
	if err != nil {
		return nil, err
	}
	if _, err := record[T](found, "word", "count"); err != nil {
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
func wordProblems(in WordInput) []sdk.Problem {
	if in.Word == "." || in.Word == ".." {
		return []sdk.Problem{sdk.Problemf("/word", "must not be %q", in.Word).WithDetail("in a path these stand for other resources")}
	}
	return nil
}

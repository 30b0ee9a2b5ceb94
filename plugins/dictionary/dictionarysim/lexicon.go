package dictionarysim

import (
	_ "embed" // the two word lists
	"strconv"
	"strings"
)

//go:embed words.txt
var wordList string

//go:embed abbrs.txt
var abbrList string

// firstRelatedID numbers the related words that have no entry of their own.
const firstRelatedID = 100_001

// entry is a line of words.txt.
type entry struct {
	id                                int
	word, british, american, cx, jbjs string
	synonyms, antonyms                []string
}

// record is the word record of the service (D-07).
type record struct {
	ID       int    `json:"id"`
	Word     string `json:"word"`
	British  string `json:"british"`
	American string `json:"american"`
	CX       string `json:"cx"`
	JBJS     string `json:"jbjs"`
	URL      string `json:"url"`
}

// relatedWord is an element of synonyms and antonyms (D-08, D-09).
type relatedWord struct {
	ID   int    `json:"id"`
	Word string `json:"word"`
	CX   string `json:"cx"`
}

// abbreviation is the abbreviation record of the service (D-11).
type abbreviation struct {
	ID         int    `json:"id"`
	Abbr       string `json:"abbr"`
	Full       string `json:"full"`
	PRC        string `json:"prc"`
	Meaning    string `json:"meaning"`
	CategoryID int    `json:"category_id"`
	URL        string `json:"url"`
}

// lexicon is the data of a simulator; it never changes once it is loaded.
type lexicon struct {
	words    []*entry
	byWord   map[string]*entry
	byLetter map[byte][]*entry
	others   map[string]int // ids of related words without an entry
	abbrs    []abbreviation
}

func loadLexicon() *lexicon {
	l := &lexicon{byWord: map[string]*entry{}, byLetter: map[byte][]*entry{}, others: map[string]int{}}
	for i, f := range rows(wordList) {
		e := &entry{id: i + 1, word: f[0], british: f[1], american: f[2], cx: f[3], jbjs: f[4], synonyms: list(f[5]), antonyms: list(f[6])}
		if e.american == "" {
			e.american = e.british
		}
		l.words = append(l.words, e)
		l.byWord[e.word] = e
		l.byLetter[e.word[0]] = append(l.byLetter[e.word[0]], e)
	}
	for _, e := range l.words {
		l.number(e.synonyms)
		l.number(e.antonyms)
	}
	for i, f := range rows(abbrList) {
		category, _ := strconv.Atoi(f[4]) // a test reads every row
		id := i + 1
		l.abbrs = append(l.abbrs, abbreviation{id, f[0], f[1], f[2], f[3], category, "/abbr/" + strconv.Itoa(id)})
	}
	return l
}

// number gives an id to every related word that has no entry.
func (l *lexicon) number(related []string) {
	for _, w := range related {
		if _, ok := l.others[w]; l.byWord[w] == nil && !ok {
			l.others[w] = firstRelatedID + len(l.others)
		}
	}
}

// related returns the records of words that belong to one with the part of
// speech cx; never nil.
func (l *lexicon) related(words []string, cx string) []relatedWord {
	out := make([]relatedWord, 0, len(words))
	for _, w := range words {
		if e := l.byWord[w]; e != nil {
			out = append(out, relatedWord{e.id, e.word, e.cx})
			continue
		}
		out = append(out, relatedWord{l.others[w], w, cx})
	}
	return out
}

func (e *entry) record() record {
	return record{e.id, e.word, "[" + e.british + "]", "[" + e.american + "]", e.cx, e.cx + " " + e.jbjs, "/word/" + e.word}
}

// rows returns the fields of each line that is not a comment.
func rows(text string) [][]string {
	var out [][]string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			out = append(out, strings.Split(line, "|"))
		}
	}
	return out
}

func list(field string) []string {
	if field == "" {
		return nil
	}
	return strings.Split(field, ",")
}

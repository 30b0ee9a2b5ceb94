package dictionarysim

import (
	"net/http"
	"strconv"
	"strings"
)

// word answers GET /api/word/{word} (D-06, D-07). Letter case does not matter.
func (s *Sim) word(w http.ResponseWriter, r *http.Request) {
	if e, ok := s.lookup(w, r); ok {
		s.succeed(w, e.record())
	}
}

// related answers GET /api/word/{word}/synonyms and antonyms (D-08, D-09).
func (s *Sim) related(name string, of func(*entry) []string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if e, ok := s.lookup(w, r); ok {
			list := s.lexicon.related(of(e), e.cx)
			s.succeed(w, map[string]any{"word": e.word, name: list, "count": len(list)})
		}
	}
}

func (s *Sim) lookup(w http.ResponseWriter, r *http.Request) (*entry, bool) {
	e, ok := s.lexicon.byWord[strings.ToLower(r.PathValue("word"))]
	if !ok {
		s.fail(w, http.StatusNotFound, "word not found")
	}
	return e, ok
}

// abbr answers GET /api/abbr/{id} (D-10, D-11).
func (s *Sim) abbr(w http.ResponseWriter, r *http.Request) {
	id, err := strconv.Atoi(r.PathValue("id"))
	if err != nil {
		s.fail(w, http.StatusBadRequest, "id must be an integer")
		return
	}
	if id < 1 || id > len(s.lexicon.abbrs) {
		s.fail(w, http.StatusNotFound, "abbreviation not found")
		return
	}
	s.succeed(w, s.lexicon.abbrs[id-1])
}

// letter answers GET /api/letter/{A-Z} (D-12 to D-15). The shape of the listing
// is not documented; this one is the simulator's.
func (s *Sim) letter(w http.ResponseWriter, r *http.Request) {
	letter := strings.ToLower(r.PathValue("letter"))
	page, okPage := number(r, "page", 1, 1, 1<<31-1)
	perPage, okPer := number(r, "per_page", 20, 1, 100)
	if len(letter) != 1 || letter[0] < 'a' || letter[0] > 'z' || !okPage || !okPer {
		s.fail(w, http.StatusBadRequest, "letter must be A to Z, page at least 1, per_page 1 to 100")
		return
	}
	all := s.lexicon.byLetter[letter[0]]
	from := min((page-1)*perPage, len(all))
	words := make([]record, 0, perPage)
	for _, e := range all[from:min(from+perPage, len(all))] {
		words = append(words, e.record())
	}
	s.succeed(w, map[string]any{
		"letter": strings.ToUpper(letter), "page": page, "per_page": perPage, "total": len(all), "words": words,
	})
}

// number reads an optional integer of the query.
func number(r *http.Request, name string, byDefault, low, high int) (int, bool) {
	text := r.URL.Query().Get(name)
	if text == "" {
		return byDefault, true
	}
	n, err := strconv.Atoi(text)
	return n, err == nil && n >= low && n <= high
}

// stats answers GET /api/stats (D-16).
func (s *Sim) stats(w http.ResponseWriter, _ *http.Request) {
	s.succeed(w, map[string]int{
		"word_count": len(s.lexicon.words), "abbr_count": len(s.lexicon.abbrs), "scene_count": 12, "cat_word_count": 480,
	})
}

// search answers GET /api/search?q=Q&type=word (D-17) with the words that
// contain q. What the service finds is not documented.
func (s *Sim) search(w http.ResponseWriter, r *http.Request) {
	q := strings.ToLower(r.URL.Query().Get("q"))
	if q == "" || r.URL.Query().Get("type") != "word" {
		s.fail(w, http.StatusBadRequest, "q is required and type must be word")
		return
	}
	records := []record{}
	for _, e := range s.lexicon.words {
		if strings.Contains(e.word, q) || strings.Contains(e.jbjs, q) {
			records = append(records, e.record())
		}
	}
	s.succeed(w, map[string]any{"words": records})
}

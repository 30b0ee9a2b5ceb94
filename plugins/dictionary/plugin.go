// Package dictionary is the plugin of the English dictionary service: words with
// phonetics and Chinese definitions, synonyms, antonyms, abbreviations, listings
// by letter, search and statistics.
//
// Row ids (D-01 ...) are those of the requirements, see docs/services/coverage.md.
// What the service's document leaves open and is decided here is listed in
// docs/services/dictionary.md.
package dictionary

import (
	"cmp"
	"strings"
	"time"

	"github.com/flowrun/flowrun/sdk"
)

// Version is the version of the plugin.
const Version = "1.0.0"

// limiter is the name of the service's one limit.
const limiter = "requests"

// Config is a connection's settings. No credential is documented, so none is
// sent unless headers says so (D-19).
type Config struct {
	sdk.HTTPSettings
	Headers map[string]string `json:"headers,omitempty" secret:"true" doc:"Headers to send with every request, for an installation that wants some. Values may be secrets."`
}

// Options are what the plugin takes from outside.
type Options struct {
	Now  func() time.Time // clock of the rest of a window after a 429
	Rest time.Duration    // that is waited for at most; 0 = the whole window
}

// New returns the plugin with the real clock.
func New() *sdk.Plugin { return NewWith(Options{Now: time.Now}) }

// NewWith returns the plugin with what a test passes in.
func NewWith(o Options) *sdk.Plugin {
	s := &service{windows: newWindows(o.Now, cmp.Or(o.Rest, window))}
	return sdk.New("dictionary", Version, "English words with phonetics, Chinese definitions, synonyms, antonyms and abbreviations.",
		sdk.PathPrefix("/api"), // D-01
		sdk.ValidateConfig(checkConfig),
		sdk.CheckConnection(s.checkConnection),
		// D-18: 60 requests a minute for each IP address of a caller; that the window
		// is fixed is our reading, since the document shows none.
		sdk.Limit(limiter, 60, window, sdk.FixedWindow(), sdk.Scope("base_url")),
		sdk.Read("word", "A word with British and American phonetics, part of speech and Chinese definitions.", s.word,
			wordOptions(sdk.OutputOf[wordRecord](), "happy", wordOutput)...),
		sdk.Read("synonyms", "Words that mean the same; the list may be empty.", s.synonyms,
			wordOptions(sdk.OutputOf[synonymsRecord](), "happy", synonymsOutput)...),
		sdk.Read("antonyms", "Words that mean the opposite; the list may be empty.", s.antonyms,
			wordOptions(sdk.OutputOf[antonymsRecord](), "happy", antonymsOutput)...),
		sdk.Read("abbr", "An abbreviation with its full form and its Chinese meaning.", s.abbr,
			options(sdk.OutputOf[abbrRecord](), notFound("No abbreviation has this id."),
				sdk.Example("an abbreviation", map[string]any{"id": 1}, sdk.Value(abbrOutput)))...),
		sdk.Read("letter", "One page of the words that start with a letter. With paginate: all of them.", s.letter,
			options(sdk.Paged("page", "items", "next_cursor"), sdk.ItemsNamedBy("id"), notFound("The service has no such letter."),
				sdk.Example("the first page", map[string]any{"letter": "S"}, sdk.Value(letterOutput)),
				sdk.Example("large pages", map[string]any{"letter": "s", "page": 2, "per_page": 100, "items_field": "words"}, sdk.Value(largeLetterOutput)))...),
		sdk.Read("stats", "How many words, abbreviations, scenes and categorized words the service has.", s.stats,
			options(sdk.OutputOf[statsRecord](), sdk.Example("the numbers", sdk.NoInput{}, sdk.Value(statsOutput)))...),
		sdk.Read("search", "Search for words; the service's document does not show what a found word looks like.", s.search,
			options(sdk.Example("a search", map[string]any{"q": "happy"}, sdk.Value(searchOutput)))...),
	)
}

// wordOptions are the options of the three actions about one word.
func wordOptions(shape sdk.ActionOption, word, output string) []sdk.ActionOption {
	return options(shape, sdk.ValidateField("/word", wordProblems), notFound("The service does not know the word."),
		sdk.Example("a word", map[string]any{"word": word}, sdk.Value(output)))
}

func notFound(doc string) sdk.ActionOption { return sdk.Fault(sdk.CodeNotFound, "404", doc) }

// options adds to an action's options what all of them have.
func options(own ...sdk.ActionOption) []sdk.ActionOption {
	return append(own,
		sdk.Limits(limiter),
		sdk.Timeout(30*time.Second),
		sdk.Fault(sdk.CodeInvalid, "400", "An input is wrong; most is found before anything is sent."),
		sdk.Fault(sdk.CodeRateLimited, "429", "More than 60 requests a minute from this address; waits for the rest of the window."),
		sdk.Fault(sdk.CodeUnavailable, "500", "No connection, or the service failed."),
		sdk.Fault(sdk.CodeInternal, "405", "The service refuses the method: a fault of this plugin."),
		sdk.Fault(sdk.CodeUnexpectedResponse, "", "The answer is no JSON, cut short or of another shape."),
	)
}

// checkConfig refuses headers that can't be sent.
func checkConfig(config Config) []sdk.Problem {
	var problems []sdk.Problem
	for name, value := range config.Headers {
		at := sdk.Pointer("headers", name)
		switch {
		case !sdk.IsHeaderName(name):
			problems = append(problems, sdk.Problemf(at, "is no name of a header"))
		case strings.EqualFold(name, "cookie"):
			problems = append(problems, sdk.Problemf(at, "cookies are not sent"))
		case !sdk.IsHeaderValue(value):
			problems = append(problems, sdk.Problemf(at, "its value can't be sent: it has a line break or another control character"))
		}
	}
	return problems
}

// checkConnection asks for the statistics; the service knows no accounts.
func (s *service) checkConnection(c *sdk.Call[Config]) (string, error) {
	_, err := s.get(c, nil, "stats")
	return "", err
}
